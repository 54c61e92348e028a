// Practice cards: GPUs that TensorFlow lists, carves and runs out of memory on, on a machine that has none.
//
// Loaded with tf.load_op_library before TensorFlow's context is made. The memory of the cards is the host's, given out by
// TensorFlow's own BFC allocators, so that limits, growth, counts and errors are those of real cards. Their kernels are the
// CPU's, for exactly those operations and types that this TensorFlow has a CUDA kernel for, so that placement, soft
// placement and copies are as on a card. Speed is not.
//
//   GPU_STUDIO_PRACTICE_COUNT         how many cards; 0 or unset: nothing is changed
//   GPU_STUDIO_PRACTICE_MEMORY_MIB    memory of each
//   GPU_STUDIO_PRACTICE_RESERVED_MIB  what the driver keeps of that (0)
//   GPU_STUDIO_PRACTICE_CONTEXT_MIB   what a process takes of each card besides its tensors, as a CUDA context does (0)
//   GPU_STUDIO_PRACTICE_KEPT          1: TensorFlow leaves as much of an uncarved card to CUDA's libraries as of a real one (0)
//   GPU_STUDIO_PRACTICE_STATE         a folder where each process notes what it holds of each card, for the others
//   GPU_STUDIO_PRACTICE_NAME, GPU_STUDIO_PRACTICE_CAPABILITY   what TensorFlow says of them
//   CUDA_VISIBLE_DEVICES is honoured: numbers, and UUIDs or their beginnings
//
// It uses C++ that TensorFlow does not promise to keep: it is built for the very version that loads it.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "absl/log/globals.h"
#include "absl/log/internal/globals.h"
#include "absl/log/log_sink.h"
#include "absl/log/log_sink_registry.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow/core/common_runtime/copy_tensor.h"
#include "tensorflow/core/common_runtime/dma_helper.h"
#include "tensorflow/core/common_runtime/local_device.h"
#include "tensorflow/core/common_runtime/scoped_allocator_mgr.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/device_factory.h"
#include "tensorflow/core/framework/kernel_def.pb.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/public/session_options.h"
#include "tsl/profiler/lib/profiler_factory.h"
#include "tsl/profiler/protobuf/xplane.pb.h"
#include "xla/tsl/framework/bfc_allocator.h"
#include "xla/tsl/framework/device_id_manager.h"

namespace tensorflow {
namespace {

// ---- The cards ------------------------------------------------------------------------------------------------------

std::string Variable(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value && *value ? value : otherwise;
}

int64_t Nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

int64_t Mib(const char* name, const char* otherwise) {
  return std::atoll(Variable(name, otherwise).c_str()) << 20;
}

// What one process holds of a card, as others see it: the file CARD.PID in the folder GPU_STUDIO_PRACTICE_STATE.
struct Share {
  std::atomic<int64_t> bytes{0};
  std::atomic<int64_t> busy{0};  // nanoseconds in kernels
};

class Card {
 public:
  Card(int number, int64_t total) : number(number), total(total), folder_(Variable("GPU_STUDIO_PRACTICE_STATE", "")) {
    if (folder_.empty()) {
      share_ = new Share;
      return;
    }
    Turn turn(folder_);  // a file that nobody has locked yet would be taken for a dead process's
    path_ = absl::StrCat(folder_, "/", number, ".", getpid());
    int file = open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(file >= 0 && ftruncate(file, sizeof(Share)) == 0) << path_;
    flock(file, LOCK_EX);  // for as long as this process lives: a file that nobody has locked is a dead one's
    share_ = static_cast<Share*>(mmap(nullptr, sizeof(Share), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    CHECK(share_ != MAP_FAILED) << path_;
  }
  const int number;  // the driver's
  const int64_t total;
  std::string pci() const {
    char text[32];
    snprintf(text, sizeof text, "0000:%02x:00.0", 0x10 + 8 * number);
    return text;
  }
  std::string uuid() const {
    char text[64];
    snprintf(text, sizeof text, "GPU-%08x-0000-4000-8000-%012x", 0x9c71ce00u + number, number);
    return text;
  }
  bool take(int64_t bytes) {
    Turn turn(folder_);
    if (bytes > left()) return false;
    share_->bytes += bytes;
    return true;
  }
  void give(int64_t bytes) { share_->bytes -= bytes; }
  void work(int64_t nanoseconds) { share_->busy += nanoseconds; }
  int64_t available() const {
    Turn turn(folder_);
    return left();
  }
  // What a process takes of a card when it first sets up its devices, as much of it as there is.
  void take_context() {
    if (has_context_.exchange(true)) return;
    Turn turn(folder_);
    share_->bytes += std::max<int64_t>(0, std::min(context_, left()));
  }

 private:
  // One thread of one process at a time looks at what is left and takes of it.
  class Turn {
   public:
    explicit Turn(const std::string& folder) : hold_(lock()) {
      if (folder.empty()) return;
      file_ = open(absl::StrCat(folder, "/turn").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
      if (file_ >= 0) flock(file_, LOCK_EX);
    }
    ~Turn() {
      if (file_ >= 0) close(file_);
    }

   private:
    static std::mutex& lock() {
      static auto* one = new std::mutex;
      return *one;
    }
    std::lock_guard<std::mutex> hold_;
    int file_ = -1;
  };
  int64_t left() const { return total - reserved_ - share_->bytes - others(); }
  int64_t others() const {
    int64_t sum = 0;
    DIR* folder = folder_.empty() ? nullptr : opendir(folder_.c_str());
    if (!folder) return 0;
    while (dirent* entry = readdir(folder)) {
      int card, pid;
      int64_t bytes;
      if (sscanf(entry->d_name, "%d.%d", &card, &pid) != 2 || card != number || pid == getpid()) continue;
      const std::string path = absl::StrCat(folder_, "/", entry->d_name);
      int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (file < 0) continue;
      if (flock(file, LOCK_SH | LOCK_NB) == 0)
        unlink(path.c_str());
      else if (read(file, &bytes, sizeof bytes) == sizeof bytes)
        sum += bytes;
      close(file);
    }
    closedir(folder);
    return sum;
  }
  const int64_t reserved_ = Mib("GPU_STUDIO_PRACTICE_RESERVED_MIB", "0");
  const int64_t context_ = Mib("GPU_STUDIO_PRACTICE_CONTEXT_MIB", "0");
  std::atomic<bool> has_context_{false};
  std::string folder_, path_;
  Share* share_;
};

// What TensorFlow leaves to CUDA's libraries of what is free (MinSystemMemory in its gpu_device.cc).
int64_t KeptBack(int64_t available) {
  if (Variable("GPU_STUDIO_PRACTICE_KEPT", "0") == "0") return 0;
  if (available < (1LL << 31)) return 225LL << 20;
  const int major = std::atoi(Variable("GPU_STUDIO_PRACTICE_CAPABILITY", "9.0").c_str());
  return (major <= 6 ? 500LL : major == 7 ? 1050LL : major == 8 ? 1536LL : 1800LL) << 20;
}

// The cards that this process may see, in the order of CUDA_VISIBLE_DEVICES.
std::vector<Card*>& Cards() {
  static auto* cards = [] {
    auto* found = new std::vector<Card*>;
    int count = std::atoi(Variable("GPU_STUDIO_PRACTICE_COUNT", "0").c_str());
    int64_t total = std::atoll(Variable("GPU_STUDIO_PRACTICE_MEMORY_MIB", "16384").c_str()) << 20;
    std::vector<Card*> all;
    for (int i = 0; i < count; ++i) all.push_back(new Card(i, total));
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    if (!visible) {
      *found = all;
      return found;
    }
    for (absl::string_view each : absl::StrSplit(visible, ',', absl::SkipWhitespace())) {
      int index = -1;
      if (absl::SimpleAtoi(each, &index)) {
        if (index < 0 || index >= count) break;  // as CUDA does: what follows a wrong one is not seen
        found->push_back(all[index]);
        continue;
      }
      Card* named = nullptr;
      for (Card* card : all)
        if (absl::StartsWith(card->uuid(), each)) named = card;
      if (!named) break;
      found->push_back(named);
    }
    return found;
  }();
  return *cards;
}

// ---- Memory: TensorFlow's own BFC allocator over address space that is taken from a card ------------------------------

class CardMemory : public SubAllocator {
 public:
  explicit CardMemory(Card* card) : SubAllocator({}, {}), card_(card) {}
  void* Alloc(size_t alignment, size_t bytes, size_t* received) override {
    if (!card_->take(bytes)) return nullptr;
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
      card_->give(bytes);
      return nullptr;
    }
    *received = bytes;
    return at;
  }
  void Free(void* at, size_t bytes) override {
    munmap(at, bytes);
    card_->give(bytes);
  }
  bool SupportsCoalescing() const override { return false; }
  tsl::AllocatorMemoryType GetMemoryType() const override { return tsl::AllocatorMemoryType::kDevice; }

 private:
  Card* card_;
};

// As in TensorFlow, the allocator of logical device k is made once in a process, and lives as long. It cuts a piece whose rest
// is that share of its memory.
Allocator* AllocatorOf(int logical, Card* card, int64_t limit, bool growth, double rest) {
  static std::mutex lock;
  static auto* made = new std::map<int, Allocator*>;
  std::lock_guard<std::mutex> hold(lock);
  Allocator*& found = (*made)[logical];
  if (!found) {
    tsl::BFCAllocator::Options options;
    options.allow_growth = growth;
    options.fragmentation_fraction = rest;
    found = new tsl::BFCAllocator(std::make_unique<CardMemory>(card), limit, absl::StrCat("GPU_", logical, "_bfc"), options);
  }
  return found;
}

// ---- Copies -----------------------------------------------------------------------------------------------------------

// With the refusals of TensorFlow's GPUUtil: "Dst tensor is not initialized." is how a copy runs out of memory.
Status CopyBytes(const Tensor* from, Tensor* to) {
  if (!DMAHelper::CanUseDMA(from)) return errors::Internal("GPU copy from non-DMA ", DataTypeString(from->dtype()), " tensor");
  if (from->dtype() != to->dtype() || from->TotalBytes() != to->TotalBytes())
    return errors::Internal("Can't copy ", from->TotalBytes(), " bytes of a tensor into another with ", to->TotalBytes(),
                            " bytes buffer.");
  if (from->TotalBytes() == 0) return OkStatus();
  if (!from->IsInitialized()) return errors::Internal("Src tensor is not initialized.");
  if (!to->IsInitialized()) return errors::Internal("Dst tensor is not initialized.");
  std::memcpy(DMAHelper::base(to), DMAHelper::base(from), from->TotalBytes());
  return OkStatus();
}

// ---- The profile: a plane for each card, as CUPTI's, with a line for each logical device ----------------------------------

struct Ran {
  int card, logical;
  std::string kernel, op;
  int64_t begin, end;
};

class Profile {
 public:
  static Profile& get() {
    static auto* one = new Profile;
    return *one;
  }
  std::atomic<bool> on{false};
  void add(Ran ran) {
    std::lock_guard<std::mutex> hold(lock_);
    ran_.push_back(std::move(ran));
  }
  std::vector<Ran> taken() {
    std::lock_guard<std::mutex> hold(lock_);
    return std::exchange(ran_, {});
  }

 private:
  std::mutex lock_;
  std::vector<Ran> ran_;
};

class PracticeProfiler : public tsl::profiler::ProfilerInterface {
 public:
  absl::Status Start() override {
    Profile::get().taken();
    Profile::get().on = true;
    return absl::OkStatus();
  }
  absl::Status Stop() override {
    Profile::get().on = false;
    return absl::OkStatus();
  }
  absl::Status CollectData(tensorflow::profiler::XSpace* space) override {
    std::map<int, tensorflow::profiler::XPlane*> planes;
    std::map<int, tensorflow::profiler::XLine*> lines;
    std::map<std::pair<int, std::string>, int64_t> kernels;
    for (const Ran& ran : Profile::get().taken()) {
      auto*& plane = planes[ran.card];
      if (!plane) {
        plane = space->add_planes();
        plane->set_id(ran.card);
        plane->set_name(absl::StrCat("/device:GPU:", ran.card));
        (*plane->mutable_stat_metadata())[1].set_id(1);
        (*plane->mutable_stat_metadata())[1].set_name("tf_op");
      }
      auto*& line = lines[ran.logical];
      if (!line) {
        line = plane->add_lines();
        line->set_id(ran.logical);
        line->set_name(absl::StrCat("Stream #", 13 + ran.logical, "(Compute)"));
        line->set_timestamp_ns(ran.begin);
      }
      auto& kernel = kernels[{ran.card, ran.kernel}];
      if (!kernel) {
        kernel = plane->event_metadata_size() + 1;
        auto& named = (*plane->mutable_event_metadata())[kernel];
        named.set_id(kernel);
        named.set_name(ran.kernel);
      }
      auto* event = line->add_events();
      event->set_metadata_id(kernel);
      event->set_offset_ps((ran.begin - line->timestamp_ns()) * 1000);
      event->set_duration_ps((ran.end - ran.begin) * 1000);
      if (ran.op.empty()) continue;
      auto* stat = event->add_stats();
      stat->set_metadata_id(1);
      stat->set_str_value(ran.op);
    }
    return absl::OkStatus();
  }
};

class PracticeContext : public DeviceContext {
 public:
  void CopyCPUTensorToDevice(const Tensor* from, Device*, Tensor* to, StatusCallback done, bool) const override {
    done(CopyBytes(from, to));
  }
  void CopyDeviceTensorToCPU(const Tensor* from, absl::string_view, Device*, Tensor* to, StatusCallback done) override {
    done(CopyBytes(from, to));
  }
  void CopyTensorInSameDevice(const Tensor* from, Device*, Tensor* to, StatusCallback done) const override {
    done(CopyBytes(from, to));
  }
  Status ThenExecute(Device*, stream_executor::Stream*, std::function<void()> then) override {
    then();  // whatever was queued has run
    return OkStatus();
  }
};

void CopyBetweenCards(DeviceContext*, DeviceContext*, Device*, Device*, const AllocatorAttributes,
                      const AllocatorAttributes, const Tensor* from, Tensor* to, int, StatusCallback done) {
  done(CopyBytes(from, to));
}

// ---- The device -------------------------------------------------------------------------------------------------------

class PracticeCard : public LocalDevice {
 public:
  PracticeCard(const SessionOptions& options, const DeviceAttributes& attributes, Card* card, int ordinal, int logical,
          Allocator* memory)
      : LocalDevice(options, attributes),
        card_(card),
        ordinal_(ordinal),
        logical_(logical),
        memory_(memory),
        context_(new PracticeContext),
        scoped_(attributes.name()) {
    info_.default_context = context_.get();
    info_.gpu_id = logical;
    set_tensorflow_accelerator_device_info(&info_);
  }
  Allocator* GetAllocator(AllocatorAttributes where) override { return where.on_host() ? cpu_allocator() : memory_; }
  Allocator* GetScopedAllocator(AllocatorAttributes where, int64_t step) override {
    if (where.scope_id > 0) return scoped_.GetContainer(step)->GetInstance(where.scope_id);
    return GetAllocator(where);
  }
  ScopedAllocatorMgr* GetScopedAllocatorMgr() const override { return &scoped_; }
  Status TryGetDeviceContext(DeviceContext** out) override {
    context_->Ref();
    *out = context_.get();
    return OkStatus();
  }
  Status MakeTensorFromProto(const TensorProto& proto, const AllocatorAttributes where, Tensor* made) override {
    Tensor parsed;
    if (!parsed.FromProto(cpu_allocator(), proto)) return errors::InvalidArgument("a tensor that cannot be parsed");
    if (where.on_host() || !DataTypeCanUseMemcpy(parsed.dtype())) {
      *made = parsed;
      return OkStatus();
    }
    Tensor there(memory_, parsed.dtype(), parsed.shape());
    if (!there.IsInitialized())
      return errors::ResourceExhausted("OOM when allocating tensor of shape ", parsed.shape().DebugString(), " and type ",
                                       DataTypeString(parsed.dtype()));
    TF_RETURN_IF_ERROR(CopyBytes(&parsed, &there));
    *made = there;
    return OkStatus();
  }
  void CopyTensorInSameDevice(const Tensor* from, Tensor* to, const DeviceContext*, StatusCallback done) override {
    done(CopyBytes(from, to));
  }
  Status Sync() override { return OkStatus(); }
  void Compute(OpKernel* kernel, OpKernelContext* context) override {
    // A real card runs the kernels of a process in one stream. Here several threads bring them, and two that ran at once would both
    // have their scratch memory. What waits for a batch, which another thread may make with kernels of this card, holds up none.
    if (absl::StartsWith(kernel->type_string(), "IteratorGetNext")) {
      kernel->Compute(context);
      return;
    }
    std::lock_guard<std::recursive_mutex> stream(stream_);
    const int64_t begin = Nanoseconds();
    kernel->Compute(context);
    note(kernel, begin);
  }
  void ComputeAsync(AsyncOpKernel* kernel, OpKernelContext* context, AsyncOpKernel::DoneCallback done) override {
    const int64_t begin = Nanoseconds();
    kernel->ComputeAsync(context, [this, begin, kernel, done = std::move(done)] {
      if (absl::StartsWith(kernel->type_string(), "Collective")) note(kernel, begin);
      done();
    });
  }

 private:
  void note(const OpKernel* kernel, int64_t begin) {
    if (!kernel_runs(*kernel)) return;
    const int64_t end = Nanoseconds();
    card_->work(end - begin);
    if (!Profile::get().on) return;
    Profile::get().add({ordinal_, logical_, absl::StrCat("practice_", kernel->type_string()),
                        absl::StrCat(kernel->name(), ":", kernel->type_string()), begin, end});
  }
  std::recursive_mutex stream_;
  // What only moves references about launches no kernel on a card.
  static bool kernel_runs(const OpKernel& kernel) {
    static const auto* none = new std::set<std::string>{
        "_Arg", "_DeviceArg", "_Retval", "_DeviceRetval", "Const", "NoOp", "Identity", "IdentityN", "ReadVariableOp",
        "VarHandleOp", "Shape", "Reshape", "Squeeze", "ExpandDims", "_Send", "_HostSend", "Switch", "Merge", "Enter",
        "Exit", "NextIteration", "LoopCond", "StridedSlice", "Assert", "StopGradient", "PreventGradient"};
    return !none->count(kernel.type_string());
  }
  Card* card_;
  const int ordinal_, logical_;
  Allocator* memory_;
  core::RefCountPtr<PracticeContext> context_;
  mutable ScopedAllocatorMgr scoped_;
  AcceleratorDeviceInfo info_;
};

// ---- The factory: what TensorFlow's BaseGPUDeviceFactory does with the options -------------------------------------------

class PracticeFactory : public DeviceFactory {
 public:
  Status ListPhysicalDevices(std::vector<std::string>* devices) override {
    for (size_t i = 0; i < Cards().size(); ++i) devices->push_back(absl::StrCat("/physical_device:GPU:", i));
    return OkStatus();
  }
  Status GetDeviceDetails(int index, std::unordered_map<std::string, std::string>* details) override {
    (*details)["device_name"] = Variable("GPU_STUDIO_PRACTICE_NAME", "Practice card");
    (*details)["compute_capability"] = Variable("GPU_STUDIO_PRACTICE_CAPABILITY", "9.0");
    return OkStatus();
  }
  Status CreateDevices(const SessionOptions& options, const std::string& prefix,
                       std::vector<std::unique_ptr<Device>>* devices) override {
    const auto& counts = options.config.device_count();
    const auto& gpu = options.config.gpu_options();
    std::vector<int> visible;
    if (gpu.visible_device_list().empty()) {
      for (size_t i = 0; i < Cards().size(); ++i) visible.push_back(i);
    } else {
      for (absl::string_view each : absl::StrSplit(gpu.visible_device_list(), ',')) {
        int index;
        if (!absl::SimpleAtoi(each, &index) || index < 0 || index >= static_cast<int>(Cards().size()))
          return errors::InvalidArgument("'visible_device_list' listed an invalid GPU id '", each, "'");
        visible.push_back(index);
      }
    }
    if (auto found = counts.find("GPU"); found != counts.end() && found->second < static_cast<int>(visible.size()))
      visible.resize(found->second);
    bool growth = gpu.allow_growth();
    const std::string forced = Variable("TF_FORCE_GPU_ALLOW_GROWTH", "");
    if (forced == "true") growth = true;
    if (forced == "false") growth = false;
    const auto& carved = gpu.experimental().virtual_devices();
    if (!carved.empty() && carved.size() > static_cast<int>(visible.size()))
      return errors::Unknown("More virtual devices than GPUs: ", carved.size());
    if (!carved.empty()) visible.resize(carved.size());

    int logical = 0;
    for (size_t i = 0; i < visible.size(); ++i) {
      Card* card = Cards()[visible[i]];
      card->take_context();
      std::vector<int64_t> limits;
      if (!carved.empty())
        for (float mib : carved.Get(i).memory_limit_mb()) limits.push_back(static_cast<int64_t>(mib) << 20);
      if (limits.empty()) {
        double fraction = gpu.per_process_gpu_memory_fraction();
        const int64_t free = card->available();
        limits.push_back(fraction > 0 ? static_cast<int64_t>(card->total * fraction)
                                      : std::max<int64_t>(free - KeptBack(free), 0));
      }
      for (int64_t limit : limits) {
        const std::string name = absl::StrCat(prefix, "/device:GPU:", logical);
        const std::string described =
            absl::StrCat("device: ", visible[i], ", name: ", Variable("GPU_STUDIO_PRACTICE_NAME", "Practice card"),
                         ", pci bus id: ", card->pci(), ", compute capability: ", Variable("GPU_STUDIO_PRACTICE_CAPABILITY", "9.0"));
        Allocator* memory = AllocatorOf(logical, card, limit, growth, gpu.experimental().internal_fragmentation_fraction());
        DeviceLocality locality;
        locality.set_bus_id(1);
        auto attributes = Device::BuildDeviceAttributes(name, DeviceType("GPU"), Bytes(limit), locality, described);
        LOG(INFO) << "Created device " << name << " with " << (limit >> 20) << " MB memory:  -> " << described << " (practice)";
        TF_RETURN_IF_ERROR(tsl::DeviceIdManager::InsertTfPlatformDeviceIdPair(DeviceType("GPU"), tsl::TfDeviceId(logical),
                                                                              tsl::PlatformDeviceId(visible[i])));
        devices->push_back(std::make_unique<PracticeCard>(options, attributes, card, visible[i], logical, memory));
        ++logical;
      }
    }
    return OkStatus();
  }
};

// ---- The kernels: for whatever has a kernel of CUDA in this TensorFlow, the CPU's one ---------------------------------------

// Reaches OpKernel's private members (explicit instantiation may name them).
template <auto Member, typename Tag>
struct Reach {
  friend MemoryTypeVector& of(OpKernel* kernel, Tag) { return const_cast<MemoryTypeVector&>(kernel->*Member); }
};
struct Inputs {};
struct Outputs {};
MemoryTypeVector& of(OpKernel*, Inputs);
MemoryTypeVector& of(OpKernel*, Outputs);
template <auto Member>
struct ReachCost {
  friend bool& expensive(OpKernel* kernel) { return kernel->*Member; }
};
bool& expensive(OpKernel*);

}  // namespace
template struct Reach<&OpKernel::input_memory_types_, Inputs>;
template struct Reach<&OpKernel::output_memory_types_, Outputs>;
template struct ReachCost<&OpKernel::expensive_>;
namespace {

OpKernel* MakeCpuKernel(OpKernelConstruction* construction) {
  std::shared_ptr<const NodeProperties> properties;
  auto* library = construction->function_library();
  const OpRegistryInterface* ops = OpRegistry::Global();
  if (library) ops = library->GetFunctionLibraryDefinition();
  NodeDef def = construction->def();
  auto hint = def.mutable_attr()->find("communication_hint");
  // NCCL joins real cards only: TensorFlow's own ring stands in for it.
  if (hint != def.mutable_attr()->end() && absl::EqualsIgnoreCase(hint->second.s(), "nccl")) hint->second.set_s("ring");
  Status status = NodeProperties::CreateFromNodeDef(def, ops, &properties);
  OpKernel* kernel = nullptr;
  auto* device = static_cast<Device*>(construction->device());
  if (status.ok())
    status = CreateOpKernel(DEVICE_CPU, device, device->GetAllocator(AllocatorAttributes()), library,
                            construction->resource_manager(), properties, construction->graph_def_version(), &kernel);
  if (!status.ok()) {
    construction->SetStatus(status);
    return nullptr;
  }
  const auto in = construction->input_memory_types();
  const auto out = construction->output_memory_types();
  of(kernel, Inputs()).assign(in.begin(), in.end());
  of(kernel, Outputs()).assign(out.begin(), out.end());
  // As on a real card, one thread runs a device's kernels one after the other: in which order they run, and so what is in memory
  // at one time, is not left to chance.
  expensive(kernel) = false;
  return kernel;
}

void RegisterKernels() {
  const KernelList known = GetAllRegisteredKernels();
  for (const KernelDef& def : known.kernel()) {
    // Collectives have one kernel for all devices, which would take NCCL for those of type GPU.
    const bool collective = def.device_type() == DEVICE_DEFAULT && absl::StartsWith(def.op(), "Collective");
    if (def.device_type() != DEVICE_GPU && !collective) continue;
    auto* copy = new KernelDef(def);
    copy->set_device_type(DEVICE_GPU);
    copy->set_priority(def.priority() + 1000);
    kernel_factory::OpKernelRegistrar(copy, "PracticeKernel", MakeCpuKernel);
  }
}

// ---- What else TensorFlow would do with CUDA ---------------------------------------------------------------------------

// Grappler asks CUDA for the properties of each GPU at every graph, and each profile asks CUPTI: they complain that there is
// no CUDA. That is not shown; the rest goes to stderr as before.
class Quiet : public absl::LogSink {
 public:
  void Send(const absl::LogEntry& entry) override {
    const absl::string_view file = entry.source_basename();
    if (absl::StartsWith(file, "cupti_") || file == "cuda_version_variants.cc" || file == "profiler_controller.cc" ||
        absl::StrContains(entry.text_message(), "Failed to get device properties"))
      return;
    absl::log_internal::WriteToStderr(entry.text_message_with_prefix_and_newline(), entry.log_severity());
  }
};

const bool loaded = [] {
  if (std::atoi(Variable("GPU_STUDIO_PRACTICE_COUNT", "0").c_str()) <= 0) return false;
  DeviceFactory::Register("GPU", std::make_unique<PracticeFactory>(), 300, /*is_pluggable_device=*/true);
  TF_CHECK_OK(CopyTensor::Register(DeviceType("GPU"), DeviceType("GPU"), CopyBetweenCards, /*is_pluggable_device=*/true));
  RegisterKernels();
  // What is a compilation device is not compiled for: functions with jit_compile=True run uncompiled on practice cards.
  XlaOpRegistry::RegisterBackend("GPU", {}, [](KernelDef*) { return false; });
  tsl::profiler::RegisterProfilerFactory([](const ProfileOptions&) { return std::make_unique<PracticeProfiler>(); });
  absl::log_internal::SetInitialized();
  absl::SetStderrThreshold(absl::LogSeverityAtLeast::kFatal);
  absl::AddLogSink(new Quiet);
  return true;
}();

}  // namespace
}  // namespace tensorflow
