/* What the CUDA driver says of practice cards (cards.cc): which there are, in the order of CUDA_VISIBLE_DEVICES. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 64
static int cards[MOST], count;

static int number_of(const char *word, int all) {
  char *end;
  long number = strtol(word, &end, 10);
  if (end != word && !*end) return number >= 0 && number < all ? (int)number : -1;
  for (int i = 0; i < all; i++) {
    char uuid[64];
    snprintf(uuid, sizeof uuid, "GPU-%08x-0000-4000-8000-%012x", 0x9c71ce00u + i, i);
    if (*word && !strncmp(uuid, word, strlen(word))) return i;
  }
  return -1;
}

int cuInit(unsigned flags) {
  const char *text = getenv("GPU_STUDIO_PRACTICE_COUNT"), *visible = getenv("CUDA_VISIBLE_DEVICES");
  int all = text ? atoi(text) : 0;
  count = 0;
  (void)flags;
  if (!visible)
    while (count < all && count < MOST) cards[count] = count, count++;
  else {
    char *words = strdup(visible), *rest = words, *word;
    while ((word = strsep(&rest, ",")) && count < MOST) {
      int number = number_of(word, all);
      if (number < 0) break;
      cards[count++] = number;
    }
    free(words);
  }
  return count ? 0 : 100; /* CUDA_ERROR_NO_DEVICE */
}
int cuDriverGetVersion(int *version) { return *version = 13000, 0; }
int cuDeviceGetCount(int *n) { return *n = count, 0; }
int cuDeviceGet(int *device, int ordinal) { return ordinal < 0 || ordinal >= count ? 101 : (*device = ordinal, 0); }
int cuDeviceGetName(char *text, int size, int device) {
  const char *name = getenv("GPU_STUDIO_PRACTICE_NAME");
  (void)device;
  snprintf(text, size, "%s", name ? name : "Practice card");
  return 0;
}
int cuDeviceGetPCIBusId(char *text, int size, int device) {
  snprintf(text, size, "0000:%02X:00.0", 0x10 + 8 * cards[device]);
  return 0;
}
int cuDeviceGetUuid(unsigned char *raw, int device) {
  unsigned first = 0x9c71ce00u + cards[device];
  unsigned char uuid[16] = {first >> 24, first >> 16, first >> 8, first, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, cards[device]};
  memcpy(raw, uuid, sizeof uuid);
  return 0;
}
int cuGetErrorName(int code, const char **text) { return *text = code == 100 ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_INVALID_DEVICE", 0; }
int cuGetErrorString(int code, const char **text) { return *text = code == 100 ? "no CUDA-capable device is detected" : "invalid device ordinal", 0; }
