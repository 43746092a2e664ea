#include "engine/backends/xla/client.h"

#include <filesystem>

#include "base/core/clock.h"
#include "base/core/hash.h"
#include "base/core/log.h"
#include "base/core/system_files.h"
#include "base/core/text.h"
#include "engine/backends/xla/errors.h"

namespace hone::xla {
namespace {

int element_type(DType t) {
  switch (t) {
    case DType::f64:
      return pjrt::kF64;
    case DType::f32:
      return pjrt::kF32;
    case DType::bf16:
      return pjrt::kBf16;
    case DType::f16:
      return pjrt::kF16;
    case DType::i64:
      return pjrt::kS64;
    case DType::i32:
      return pjrt::kS32;
    case DType::i8:
      return pjrt::kS8;
    case DType::u8:
      return pjrt::kU8;
    case DType::boolean:
      return pjrt::kPred;
  }
  HONE_BUG_IF(true, "an unknown element type");
}

// Names everything that decides the code that a plug-in makes of a text.
std::string compiler_text(const Plugin& plugin, const std::string& platform_version) {
  std::error_code failed;
  const auto bytes = std::filesystem::file_size(plugin.file(), failed);
  const auto time = std::filesystem::last_write_time(plugin.file(), failed);
  return fmt::format(
      "{} {} {} {} {} {} {} {}", plugin.file(), bytes, time.time_since_epoch().count(),
      plugin.version(), platform_version, environment("XLA_FLAGS"), environment("LIBTPU_INIT_ARGS"),
      system_value("/proc/cpuinfo", "flags") + system_value("/proc/cpuinfo", "Features"));
}

}  // namespace

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(client_, other.client_);
  std::swap(raw_, other.raw_);
  return *this;
}

Buffer::~Buffer() {
  if (raw_ == nullptr) return;
  pjrt::BufferArgs args;
  args.buffer = raw_;
  (void)client_->plugin().call(client_->plugin().api().buffer_destroy, args, "freeing an array");
}

Compiled::~Compiled() {
  pjrt::LoadedExecutableArgs args;
  args.executable = raw_;
  (void)client_.plugin().call(client_.plugin().api().loaded_destroy, args, "freeing a program");
}

Status Compiled::execute(pjrt::ExecuteArgs& args) const {
  const Plugin& plugin = client_.plugin();
  pjrt::ExecuteOptions options;
  options.struct_size = sizeof options;
  std::vector<pjrt::Event*> done(args.device_count, nullptr);
  args.executable = raw_;
  args.options = &options;
  args.done = done.data();
  HONE_TRY(plugin.call(plugin.api().execute, args, "a program"));
  Status all = Ok{};
  for (pjrt::Event* event : done)
    if (Status one = plugin.await(event, "a program"); all.ok()) all = std::move(one);
  return all;
}

Status Compiled::run(int device, std::span<pjrt::Buffer* const> arguments,
                     std::span<pjrt::Buffer*> outputs) const {
  pjrt::Buffer* const* const of_device = arguments.data();
  pjrt::Buffer** const out_of_device = outputs.data();
  pjrt::ExecuteArgs args;
  args.arguments = &of_device;
  args.device_count = 1;
  args.argument_count = arguments.size();
  args.outputs = &out_of_device;
  args.device = client_.device(device);
  return execute(args);
}

Status Compiled::run_replicas(std::span<pjrt::Buffer* const* const> arguments,
                              size_t argument_count,
                              std::span<pjrt::Buffer** const> outputs) const {
  pjrt::ExecuteArgs args;
  args.arguments = arguments.data();
  args.device_count = arguments.size();
  args.argument_count = argument_count;
  args.outputs = outputs.data();
  return execute(args);
}

Result<CompiledMemory> Compiled::memory() const {
  const Plugin& plugin = client_.plugin();
  pjrt::GetExecutableArgs get;
  get.loaded = raw_;
  HONE_TRY(plugin.call(plugin.api().loaded_executable, get, "a program's facts"));
  return memory_of(plugin, get.executable);
}

Result<std::unique_ptr<Client>> Client::open(std::shared_ptr<const Plugin> plugin,
                                             const ClientSettings& settings) {
  std::unique_ptr<Client> c(new Client);
  const pjrt::Api& api = plugin->api();
  c->plugin_ = plugin;
  pjrt::ClientCreateArgs create;
  static constexpr std::string_view kDevices = "cpu_device_count";
  pjrt::NamedValue devices_made;
  devices_made.struct_size = sizeof devices_made;
  devices_made.name = kDevices.data();
  devices_made.name_size = kDevices.size();
  devices_made.type = pjrt::NamedValue::kInt64;
  devices_made.int64_value = settings.devices;
  devices_made.value_size = 1;
  if (settings.devices > 0) {
    create.options = &devices_made;
    create.option_count = 1;
  }
  HONE_TRY(plugin->call(api.client_create, create, "opening the platform"));
  c->raw_ = create.client;
  pjrt::ClientTextArgs text;
  text.client = c->raw_;
  HONE_TRY(plugin->call(api.client_platform_name, text, "the platform's name"));
  c->platform_.assign(text.text, text.text_size);
  HONE_TRY(plugin->call(api.client_platform_version, text, "the platform's version"));
  c->platform_version_.assign(text.text, text.text_size);

  pjrt::ClientDevicesArgs devices;
  devices.client = c->raw_;
  HONE_TRY(plugin->call(api.client_addressable_devices, devices, "the list of devices"));
  for (size_t i = 0; i < devices.count; ++i) {
    pjrt::DeviceDescriptionArgs description;
    description.device = devices.devices[i];
    HONE_TRY(plugin->call(api.device_description, description, "a device's facts"));
    pjrt::DescriptionIdArgs id;
    id.description = description.description;
    HONE_TRY(plugin->call(api.description_id, id, "a device's number"));
    c->ids_.push_back(id.id);
    pjrt::DescriptionTextArgs kind;
    kind.description = description.description;
    HONE_TRY(plugin->call(api.description_kind, kind, "a device's kind"));
    c->kinds_.emplace_back(kind.text, kind.text_size);
  }
  c->devices_.assign(devices.devices, devices.devices + devices.count);
  c->cache_ = ExecutableCache(settings.cache, compiler_text(*plugin, c->platform_version_));
  c->keep_after_s_ = settings.keep_after_s;
  return c;
}

Status Client::expect_device(int ordinal) const {
  if (ordinal >= 0 && static_cast<size_t>(ordinal) < devices_.size()) return Ok{};
  return Error(err::kNoTpu, fmt::format("there is no device {}: the platform {} has {}", ordinal,
                                        platform_, devices_.size()))
      .todo("give a number from 0; hone doctor lists the devices");
}

int64_t Client::memory_bytes(int ordinal) const {
  pjrt::DeviceMemoryArgs memory;
  memory.device = device(ordinal);
  const bool known = plugin_->call(plugin_->api().device_memory, memory, "the memory").ok();
  return known && memory.bytes_limit.is_set ? memory.bytes_limit.value : 0;
}

Client::~Client() {
  recent_.clear();
  if (raw_ == nullptr) return;
  pjrt::ClientArgs args;
  args.client = raw_;
  (void)plugin_->call(plugin_->api().client_destroy, args, "closing the platform");
}

Result<Buffer> Client::upload(int ordinal, const void* data, const Type& type) const {
  pjrt::BufferFromHostArgs args;
  args.client = raw_;
  args.data = data;
  args.type = element_type(type.dtype);
  args.dims = type.shape.data();
  args.rank = type.shape.size();
  args.device = device(ordinal);
  HONE_TRY(plugin_->call(plugin_->api().client_buffer_from_host, args, "a copy to the device"));
  Buffer made(*this, args.buffer);
  HONE_TRY(plugin_->await(args.done_with_host_buffer, "a copy to the device"));
  return made;
}

Status Client::download(const Buffer& from, void* to, int64_t bytes) const {
  if (bytes == 0) return Ok{};
  pjrt::BufferToHostArgs args;
  args.buffer = from.raw();
  args.to = to;
  args.size = static_cast<size_t>(bytes);
  HONE_TRY(plugin_->call(plugin_->api().buffer_to_host, args, "a copy from the device"));
  return plugin_->await(args.event, "a copy from the device");
}

Result<std::shared_ptr<const Compiled>> Client::compile(const std::string& text,
                                                        int replicas) const {
  const std::lock_guard lock(mutex_);
  const uint64_t key = fnv1a(fnv1a(text), static_cast<uint64_t>(replicas));
  if (auto made = compiled_[key].lock()) return made;
  HONE_TRY(dump_text(text));
  CompileSettings settings{.replicas = replicas, .tpu = platform_ == "tpu"};
  if (replicas > 1) settings.device_ids = std::span(ids_).first(static_cast<size_t>(replicas));
  const std::string options = compile_options(settings);
  pjrt::LoadedExecutable* raw = load(text, options);
  if (raw == nullptr) raw = HONE_TRY(compile_now(text, options));
  const auto made = std::make_shared<const Compiled>(*this, raw);
  compiled_[key] = made;
  recent_.push_back(made);
  if (recent_.size() > kRecent) recent_.pop_front();
  return made;
}

Result<pjrt::LoadedExecutable*> Client::compile_now(const std::string& text,
                                                    const std::string& options) const {
  const pjrt::SourceText source = source_of(text);
  pjrt::ClientCompileArgs args;
  args.client = raw_;
  args.program = &source;
  args.options = options.data();
  args.options_size = options.size();
  const double begin = system_clock().seconds();
  HONE_TRY(plugin_->call(plugin_->api().client_compile, args, "compiling a program"));
  ++compiles_;
  const double seconds = system_clock().seconds() - begin;
  log_debug("{}: compiled {} bytes of StableHLO in {:.2f} s", platform_, text.size(), seconds);
  if (cache_.on() && seconds >= keep_after_s_) keep(text, options, args.executable);
  return args.executable;
}

pjrt::LoadedExecutable* Client::load(const std::string& text, const std::string& options) const {
  const std::optional<std::string> kept = cache_.read(text, options);
  if (!kept) return nullptr;
  const double begin = system_clock().seconds();
  pjrt::DeserializeArgs args;
  args.client = raw_;
  args.bytes = kept->data();
  args.size = kept->size();
  if (const Status done = plugin_->call(plugin_->api().deserialize, args, "loading a program");
      !done.ok()) {
    log_debug("{}: {}", cache_.file_of(text, options), done.error().what());
    return nullptr;
  }
  ++loads_;
  log_debug("{}: loaded the program of {} bytes of StableHLO in {:.2f} s", platform_, text.size(),
            system_clock().seconds() - begin);
  return args.executable;
}

// A plug-in that cannot write its programs compiles them in each process.
void Client::keep(const std::string& text, const std::string& options,
                  pjrt::LoadedExecutable* made) const {
  pjrt::GetExecutableArgs get;
  get.loaded = made;
  pjrt::SerializeArgs serialized;
  Status done = plugin_->call(plugin_->api().loaded_executable, get, "a program's facts");
  if (done.ok()) {
    serialized.executable = get.executable;
    done = plugin_->call(plugin_->api().executable_serialize, serialized, "writing a program");
    if (done.ok()) {
      done = cache_.keep(text, options, std::string(serialized.bytes, serialized.size));
      serialized.free(serialized.owner);
    }
    pjrt::ExecutableArgs destroy;
    destroy.executable = get.executable;
    (void)plugin_->call(plugin_->api().executable_destroy, destroy, "freeing a program's facts");
  }
  if (!done.ok()) log_debug("{}: a program is not kept: {}", platform_, done.error().what());
}

int64_t Client::loads() const {
  const std::lock_guard lock(mutex_);
  return loads_;
}

int64_t Client::compiles() const {
  const std::lock_guard lock(mutex_);
  return compiles_;
}

}  // namespace hone::xla
