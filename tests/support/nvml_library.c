/* A library of the name of the NVIDIA driver's, for tests: cards, and faults that are put into a file shared with the
   test while this library is in use. Where TensorFlow has practice cards, these are the same ones: as many, with the
   same names, and the processes that hold them. The layouts are those of nvml.h. */

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7, TIMEOUT = 10 };
enum { HANG = -1, CRASH = -2, EVERY_CARD = -1, MOST_FAULTS = 64 };
static const unsigned long long MIB = 1024 * 1024;

struct fault { char function[56]; int32_t card; int32_t code; };
struct control {
    uint64_t calls;
    int32_t cards, faults, xid_card, xid;
    struct fault fault[MOST_FAULTS];
};

static struct control alone = {.cards = 2, .xid_card = -1};
static struct control *state = &alone;

__attribute__((constructor)) static void share(void) {
    const char *path = getenv("GPU_STUDIO_TEST_NVML");
    int file = path ? open(path, O_RDWR) : -1;
    if (file >= 0) {
        void *found = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (found != MAP_FAILED) state = found;
        close(file);
    }
}

static int fault_of(const char *function, int card) {
    __atomic_add_fetch(&state->calls, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < state->faults; i++) {
        struct fault *fault = &state->fault[i];
        if (strcmp(fault->function, function) || (fault->card != EVERY_CARD && fault->card != card)) continue;
        if (fault->code == HANG) for (;;) pause();
        if (fault->code == CRASH) abort();
        return fault->code;
    }
    return SUCCESS;
}

/* What the processes hold of practice cards */

static const char *noted(void) { return getenv("GPU_STUDIO_PRACTICE_STATE"); }
static unsigned long long mib_of(const char *name, unsigned long long otherwise) {
    const char *text = noted() ? getenv(name) : NULL;
    return (text ? strtoull(text, NULL, 10) : otherwise) * MIB;
}
static unsigned long long total(void) { return mib_of("GPU_STUDIO_PRACTICE_MEMORY_MIB", 8192); }
static unsigned long long reserved(void) { return mib_of("GPU_STUDIO_PRACTICE_RESERVED_MIB", 192); }
static int bus_of(int card) { return 0x10 + (noted() ? 8 : 1) * card; }

enum { MOST_HOLDERS = 64 };
struct holder { unsigned pid; unsigned long long bytes; };
static int holders_of(int card, struct holder *out) {
    DIR *folder = opendir(noted());
    int count = 0;
    for (struct dirent *each; folder && count < MOST_HOLDERS && (each = readdir(folder));) {
        int which; unsigned pid; char path[4096]; unsigned long long bytes;
        if (sscanf(each->d_name, "%d.%u", &which, &pid) != 2 || which != card) continue;
        snprintf(path, sizeof path, "%s/%s", noted(), each->d_name);
        int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0) continue;
        /* Whoever lives has it locked. */
        if (flock(file, LOCK_SH | LOCK_NB) && read(file, &bytes, sizeof bytes) == sizeof bytes && bytes)
            out[count++] = (struct holder){pid, bytes};
        close(file);
    }
    if (folder) closedir(folder);
    return count;
}
static unsigned long long used(int card) {
    struct holder holders[MOST_HOLDERS];
    unsigned long long sum = 0;
    if (!noted()) return 1000 * MIB;
    for (int left = holders_of(card, holders); left-- > 0;) sum += holders[left].bytes;
    return sum;
}

#define CARD(handle) ((int)(intptr_t)(handle) - 1)
#define MAY_FAIL(card) do { int code = fault_of(__func__, card); if (code) return code; } while (0)
#define NUMBER(name, type, value) \
    int name(void *card, type *out) { MAY_FAIL(CARD(card)); *out = (value); return SUCCESS; }
#define NUMBER_OF(name, type, value) \
    int name(void *card, int kind, type *out) { (void)kind; MAY_FAIL(CARD(card)); *out = (value); return SUCCESS; }
#define TEXT(name, ...) \
    int name(void *card, char *out, unsigned length) { \
        MAY_FAIL(CARD(card)); snprintf(out, length, __VA_ARGS__); return SUCCESS; }
#define UNSUPPORTED(name) int name(void *card) { MAY_FAIL(CARD(card)); return NOT_SUPPORTED; }

int nvmlInitWithFlags(unsigned flags) { (void)flags; MAY_FAIL(-1); return SUCCESS; }
int nvmlInit_v2(void) { MAY_FAIL(-1); return SUCCESS; }
int nvmlShutdown(void) { MAY_FAIL(-1); return SUCCESS; }
const char *nvmlErrorString(int code) { (void)code; return "an error"; }

int nvmlSystemGetDriverVersion(char *out, unsigned length) {
    MAY_FAIL(-1); snprintf(out, length, "570.10"); return SUCCESS;
}
int nvmlSystemGetNVMLVersion(char *out, unsigned length) {
    MAY_FAIL(-1); snprintf(out, length, "12.570.10"); return SUCCESS;
}
int nvmlSystemGetCudaDriverVersion(int *out) { MAY_FAIL(-1); *out = 12080; return SUCCESS; }
int nvmlSystemGetCudaDriverVersion_v2(int *out) { MAY_FAIL(-1); *out = 12080; return SUCCESS; }

int nvmlDeviceGetCount_v2(unsigned *out) { MAY_FAIL(-1); *out = state->cards; return SUCCESS; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out) {
    MAY_FAIL((int)index);
    if ((int)index >= state->cards) return INVALID;
    *out = (void *)(intptr_t)(index + 1);
    return SUCCESS;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **out) {
    MAY_FAIL(-1);
    unsigned domain, bus;
    if (sscanf(bus_id, "%x:%x", &domain, &bus) != 2 || bus < 0x10) return NOT_FOUND;
    int card = ((int)bus - 0x10) / (noted() ? 8 : 1);
    if (card >= state->cards) return NOT_FOUND;
    *out = (void *)(intptr_t)(card + 1);
    return SUCCESS;
}
int nvmlDeviceGetHandleByUUID(const char *uuid, void **out) {
    MAY_FAIL(-1);
    int card = (int)strtol(uuid + strlen(uuid) - 2, NULL, noted() ? 16 : 10);
    if (card >= state->cards) return NOT_FOUND;
    *out = (void *)(intptr_t)(card + 1);
    return SUCCESS;
}

NUMBER(nvmlDeviceGetIndex, unsigned, CARD(card))
NUMBER(nvmlDeviceGetMinorNumber, unsigned, CARD(card))
int nvmlDeviceGetUUID(void *card, char *out, unsigned length) {
    MAY_FAIL(CARD(card));
    if (noted()) snprintf(out, length, "GPU-%08x-0000-4000-8000-%012x", 0x9c71ce00 + CARD(card), CARD(card));
    else snprintf(out, length, "GPU-7e570000-0000-4000-8000-0000000000%02d", CARD(card));
    return SUCCESS;
}
int nvmlDeviceGetName(void *card, char *out, unsigned length) {
    MAY_FAIL(CARD(card));
    const char *name = noted() ? getenv("GPU_STUDIO_PRACTICE_NAME") : NULL;
    if (name) snprintf(out, length, "%s", name);
    else snprintf(out, length, "NVIDIA Test %d", CARD(card));
    return SUCCESS;
}
TEXT(nvmlDeviceGetSerial, "%08d", CARD(card))
NUMBER(nvmlDeviceGetArchitecture, unsigned, 9)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, unsigned, 5)
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, unsigned, 5)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, unsigned, 16)
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, unsigned, 16)
NUMBER(nvmlDeviceGetEnforcedPowerLimit, unsigned, 700000)
NUMBER(nvmlDeviceGetPowerManagementLimit, unsigned, 700000)
NUMBER(nvmlDeviceGetPowerUsage, unsigned, 100000 + 1000 * CARD(card))
NUMBER(nvmlDeviceGetFanSpeed, unsigned, 40)
NUMBER(nvmlDeviceGetPerformanceState, unsigned, 0)
NUMBER(nvmlDeviceGetPersistenceMode, unsigned, 1)
NUMBER(nvmlDeviceGetComputeMode, unsigned, 0)
NUMBER(nvmlDeviceGetDisplayMode, unsigned, 0)
NUMBER(nvmlDeviceGetDisplayActive, unsigned, 0)
NUMBER(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, noted() ? 0 : 0x4)
NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, noted() ? 0 : 0x4)
NUMBER(nvmlDeviceGetTotalEnergyConsumption, unsigned long long, 5000000)
NUMBER(nvmlDeviceGetSupportedEventTypes, unsigned long long, 0xb)
NUMBER_OF(nvmlDeviceGetTemperature, unsigned, 50 + CARD(card))
NUMBER_OF(nvmlDeviceGetTemperatureThreshold, unsigned, 90)
NUMBER_OF(nvmlDeviceGetClockInfo, unsigned, 1500)
NUMBER_OF(nvmlDeviceGetMaxClockInfo, unsigned, 1980)
NUMBER_OF(nvmlDeviceGetFanSpeed_v2, unsigned, 40)
UNSUPPORTED(nvmlDeviceGetMigMode)
UNSUPPORTED(nvmlDeviceGetDriverModel)
UNSUPPORTED(nvmlDeviceGetDriverModel_v2)
UNSUPPORTED(nvmlDeviceGetProcessUtilization)

int nvmlDeviceGetCudaComputeCapability(void *card, int *major, int *minor) {
    MAY_FAIL(CARD(card)); *major = 9; *minor = 0; return SUCCESS;
}
int nvmlDeviceGetPowerManagementLimitConstraints(void *card, unsigned *least, unsigned *most) {
    MAY_FAIL(CARD(card)); *least = 200000; *most = 700000; return SUCCESS;
}
int nvmlDeviceGetTotalEccErrors(void *card, int type, int counter, unsigned long long *out) {
    (void)type; (void)counter; MAY_FAIL(CARD(card)); *out = 0; return SUCCESS;
}
int nvmlDeviceGetMemoryErrorCounter(void *card, int type, int counter, int where, unsigned long long *out) {
    (void)type; (void)counter; (void)where; MAY_FAIL(CARD(card)); *out = 0; return SUCCESS;
}
int nvmlDeviceGetEncoderUtilization(void *card, unsigned *out, unsigned *period) {
    MAY_FAIL(CARD(card)); *out = 0; *period = 1000; return SUCCESS;
}
int nvmlDeviceGetDecoderUtilization(void *card, unsigned *out, unsigned *period) {
    MAY_FAIL(CARD(card)); *out = 0; *period = 1000; return SUCCESS;
}
int nvmlDeviceGetPcieThroughput(void *card, int counter, unsigned *out) {
    (void)counter; MAY_FAIL(CARD(card)); usleep(20000); *out = 2048; return SUCCESS;
}

struct pci { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; };
int nvmlDeviceGetPciInfo_v3(void *card, struct pci *out) {
    MAY_FAIL(CARD(card));
    memset(out, 0, sizeof *out);
    out->bus = bus_of(CARD(card));
    snprintf(out->legacy, sizeof out->legacy, "0000:%02X:00.0", out->bus);
    snprintf(out->bus_id, sizeof out->bus_id, "00000000:%02X:00.0", out->bus);
    return SUCCESS;
}

struct memory { unsigned long long total, free, used; };
int nvmlDeviceGetMemoryInfo(void *card, struct memory *out) {
    MAY_FAIL(CARD(card));
    unsigned long long taken = used(CARD(card)) + reserved();
    *out = (struct memory){total(), total() - taken, taken};
    return SUCCESS;
}
struct memory_2 { unsigned version; unsigned long long total, reserved, free, used; };
int nvmlDeviceGetMemoryInfo_v2(void *card, struct memory_2 *out) {
    MAY_FAIL(CARD(card));
    unsigned long long taken = used(CARD(card));
    *out = (struct memory_2){out->version, total(), reserved(), total() - reserved() - taken, taken};
    return SUCCESS;
}
struct bar { unsigned long long total, free, used; };
int nvmlDeviceGetBAR1MemoryInfo(void *card, struct bar *out) {
    MAY_FAIL(CARD(card)); *out = (struct bar){256 * MIB, 255 * MIB, MIB}; return SUCCESS;
}
struct rates { unsigned gpu, memory; };
int nvmlDeviceGetUtilizationRates(void *card, struct rates *out) {
    MAY_FAIL(CARD(card)); *out = (struct rates){70, 30}; return SUCCESS;
}

struct process { unsigned pid; unsigned long long used; unsigned gpu_instance, compute_instance; };
int nvmlDeviceGetComputeRunningProcesses_v3(void *card, unsigned *count, struct process *out) {
    MAY_FAIL(CARD(card));
    struct holder holders[MOST_HOLDERS] = {{(unsigned)getppid(), 500 * MIB}};
    int there = noted() ? holders_of(CARD(card), holders) : 1;
    int room = (int)*count;
    *count = there;
    if (there && (!out || room < there)) return TOO_SMALL;
    for (int i = 0; i < there; i++) out[i] = (struct process){holders[i].pid, holders[i].bytes, ~0u, ~0u};
    return SUCCESS;
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(void *card, unsigned *count, struct process *out) {
    (void)out; MAY_FAIL(CARD(card)); *count = 0; return SUCCESS;
}
int nvmlDeviceGetMPSComputeRunningProcesses_v3(void *card, unsigned *count, struct process *out) {
    (void)out; MAY_FAIL(CARD(card)); *count = 0; return SUCCESS;
}

struct event { void *device; unsigned long long type, data; unsigned gpu_instance, compute_instance; };
int nvmlEventSetCreate(void **out) { MAY_FAIL(-1); *out = &alone; return SUCCESS; }
int nvmlEventSetFree(void *events) { (void)events; MAY_FAIL(-1); return SUCCESS; }
int nvmlDeviceRegisterEvents(void *card, unsigned long long types, void *events) {
    (void)types; (void)events; MAY_FAIL(CARD(card)); return SUCCESS;
}
int nvmlEventSetWait_v2(void *events, struct event *out, unsigned milliseconds) {
    (void)events; (void)milliseconds;
    MAY_FAIL(-1);
    if (state->xid_card < 0) return TIMEOUT;
    *out = (struct event){(void *)(intptr_t)(state->xid_card + 1), 0x8, state->xid, 0, 0};
    state->xid_card = -1;
    return SUCCESS;
}
