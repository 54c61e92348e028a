"""Where layers go: what a layer costs, how a model is cut, what a pipeline takes. Pure: values in, values out."""
