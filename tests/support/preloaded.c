/* What is preloaded into processes that have TensorFlow, to wait less.

   Answers are kept for what TensorFlow asks of itself again and again. Before TensorFlow runs a
   function, its pass for oneDNN asks of each operation whether a kernel is registered under another
   name, `_MklMatMul` for `MatMul`. Each answer is found by a look at all kernels there are: 0.7 ms,
   some hundred times in a process that trains one step. Preloaded, this takes the place of the
   function that is asked. What `remember_kernels` was told of is answered from memory, any other
   name of oneDNN's has no kernels, and the rest TensorFlow answers itself.

   For each operation of a graph TensorFlow notes the lines of all functions that are under way,
   some sixty, and Python finds each in a table that it reads from its beginning: 4 % of a training.
   Here the line of a place in a function is found once. A pass for XLA lists the 1,200 operations
   that XLA knows, sorted anew for each function: 2 %. The list is copied here.

   Where there is no memory, TensorFlow waits ten seconds for another operation to give some back
   (AllocatorRetry, which no variable shortens). Here it waits two: on a busy machine, too, an
   operation takes some hundredths. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libtensorflow_framework.so.2"
#define ASKED "_ZN10tensorflow22KernelsRegisteredForOpB5cxx11ESt17basic_string_viewIcSt11char_traitsIcEE"
#define WAITS "_ZN3tsl14AllocatorRetry11AllocateRawESt8functionIFPvmmbEEimm"
#define OF_XLA "_ZN10tensorflow13XlaOpRegistry19GetAllRegisteredOpsB5cxx11Ev"
#define LONGEST_MS 2000
#define MOST 1024
#define PLACES (1 << 15)
#define PREFIX "_Mkl"

/* A string of the C++ library: the characters are its own where there are few, else on the heap. */
struct text {
    char *start;
    size_t length;
    union {
        char own[16];
        size_t room;
    } kept;
};

/* A vector of them. */
struct list {
    struct text *first, *end, *room;
};

typedef struct text *Ask(struct text *, size_t, const char *);
typedef struct list *List(struct list *);
typedef void *Wait(void *, void *, int, size_t, size_t);

static const char none[] = "  <no registered kernels>\n";
static struct {
    char *name, *answer;
} known[MOST];
static int count;

struct text *asked(struct text *told, size_t length, const char *name) __asm__(ASKED);
void *allocated(void *self, void *by, int longest, size_t alignment, size_t bytes) __asm__(WAITS);

static void *real_of(const char *name)
{
    void *library = dlopen(LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
    return library ? dlsym(library, name) : NULL;
}

static Ask *real(void)
{
    static Ask *found;
    if (!found)
        found = (Ask *)real_of(ASKED);
    return found;
}

void *allocated(void *self, void *by, int longest, size_t alignment, size_t bytes)
{
    static Wait *wait;
    if (!wait)
        wait = (Wait *)real_of(WAITS);
    return wait(self, by, longest < LONGEST_MS ? longest : LONGEST_MS, alignment, bytes);
}

static struct text *say(struct text *told, const char *answer)
{
    told->length = strlen(answer);
    told->start = told->kept.own;
    if (told->length >= sizeof told->kept.own) {
        told->start = malloc(told->length + 1);
        told->kept.room = told->length;
    }
    memcpy(told->start, answer, told->length + 1);
    return told;
}

struct text *asked(struct text *told, size_t length, const char *name)
{
    if (count == 0 || length < strlen(PREFIX) || memcmp(name, PREFIX, strlen(PREFIX)))
        return real()(told, length, name);
    for (int each = 0; each < count; each++)
        if (strlen(known[each].name) == length && !memcmp(known[each].name, name, length))
            return say(told, known[each].answer);
    return say(told, none);
}

/* Keep the answer for a name; whether it is kept. All that have kernels are to be told of. */
int remember_kernels(const char *name)
{
    struct text told;
    if (count == MOST || !real())
        return 0;
    real()(&told, strlen(name), name);
    known[count].answer = strndup(told.start, told.length);
    known[count++].name = strdup(name);
    return 1;
}

/* The operations that XLA knows: which they are is settled when TensorFlow has been loaded. */
struct list *listed(struct list *told) __asm__(OF_XLA);

struct list *listed(struct list *told)
{
    static struct list all;
    static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&asking);
    if (!all.first)
        ((List *)dlsym(RTLD_NEXT, OF_XLA))(&all);
    pthread_mutex_unlock(&asking);
    told->first = malloc((char *)all.end - (char *)all.first);
    told->end = told->room = told->first + (all.end - all.first);
    for (struct text *from = all.first, *to = told->first; from < all.end; from++, to++)
        say(to, from->start);
    return told;
}

/* Python's own, of which only addresses are looked at. */
extern void *PyFrame_GetCode(void *frame);
extern int PyFrame_GetLasti(void *frame);
extern void Py_DecRef(void *object);

/* The line that a function under way is in. Whoever asks has Python's lock. What is remembered of a
   function keeps it, so that no other has its address. */
int PyFrame_GetLineNumber(void *frame)
{
    static int (*ask)(void *);
    static struct {
        void *code;
        int at, line;
    } places[PLACES];
    void *code = PyFrame_GetCode(frame);
    int at = PyFrame_GetLasti(frame);
    size_t place = ((uintptr_t)code / 16 * 31 + (uintptr_t)at / 2) % PLACES;

    if (places[place].code == code && places[place].at == at) {
        Py_DecRef(code);
        return places[place].line;
    }
    if (!ask)
        ask = (int (*)(void *))dlsym(RTLD_NEXT, "PyFrame_GetLineNumber");
    if (places[place].code)
        Py_DecRef(places[place].code);
    places[place].code = code;
    places[place].at = at;
    return places[place].line = ask(frame);
}
