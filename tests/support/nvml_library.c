/* A library of the name of the NVIDIA driver's, for tests: cards, and faults that are put into a file shared with the
   test while this library is in use. The layouts are those of nvml.h. */

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    if (sscanf(bus_id, "%x:%x", &domain, &bus) != 2 || bus < 0x10 || (int)bus - 0x10 >= state->cards) return NOT_FOUND;
    *out = (void *)(intptr_t)(bus - 0x10 + 1);
    return SUCCESS;
}
int nvmlDeviceGetHandleByUUID(const char *uuid, void **out) {
    MAY_FAIL(-1);
    int card = atoi(uuid + strlen(uuid) - 2);
    if (card >= state->cards) return NOT_FOUND;
    *out = (void *)(intptr_t)(card + 1);
    return SUCCESS;
}

NUMBER(nvmlDeviceGetIndex, unsigned, CARD(card))
NUMBER(nvmlDeviceGetMinorNumber, unsigned, CARD(card))
TEXT(nvmlDeviceGetUUID, "GPU-7e570000-0000-4000-8000-0000000000%02d", CARD(card))
TEXT(nvmlDeviceGetName, "NVIDIA Test %d", CARD(card))
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
NUMBER(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, 0x4)
NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, 0x4)
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
    out->bus = 0x10 + CARD(card);
    snprintf(out->legacy, sizeof out->legacy, "0000:%02X:00.0", out->bus);
    snprintf(out->bus_id, sizeof out->bus_id, "00000000:%02X:00.0", out->bus);
    return SUCCESS;
}

struct memory { unsigned long long total, free, used; };
int nvmlDeviceGetMemoryInfo(void *card, struct memory *out) {
    MAY_FAIL(CARD(card));
    *out = (struct memory){8192 * MIB, 7000 * MIB, 1192 * MIB};
    return SUCCESS;
}
struct memory_2 { unsigned version; unsigned long long total, reserved, free, used; };
int nvmlDeviceGetMemoryInfo_v2(void *card, struct memory_2 *out) {
    MAY_FAIL(CARD(card));
    *out = (struct memory_2){out->version, 8192 * MIB, 192 * MIB, 7000 * MIB, 1000 * MIB};
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
    unsigned room = *count;
    *count = 1;
    if (!out || room < 1) return TOO_SMALL;
    *out = (struct process){(unsigned)getppid(), 500 * MIB, ~0u, ~0u};
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
