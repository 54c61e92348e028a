"""The built-in models as lines of Keras, one small file a family: what `trainer.models` builds, written out."""
