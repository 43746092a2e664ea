#include "engine/backends/xla/client.h"

#include <fstream>

#include "base/core/clock.h"
#include "base/core/hash.h"
#include "base/core/log.h"
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

// HONE_XLA_DUMP names a folder for the text of each program that is compiled.
Status dump(const std::string& text, uint64_t key) {
  const std::string folder = environment("HONE_XLA_DUMP");
  if (folder.empty()) return Ok{};
  const std::string file = fmt::format("{}/{:016x}.mlir", folder, key);
  std::ofstream out(file);
  if (!(out << text).flush())
    return Error(err::kXlaFails, fmt::format("{} cannot be written", file))
        .todo("let HONE_XLA_DUMP name a folder that exists");
  return Ok{};
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

Status Compiled::run(std::span<pjrt::Buffer* const> arguments,
                     std::span<pjrt::Buffer*> outputs) const {
  const Plugin& plugin = client_.plugin();
  pjrt::ExecuteOptions options;
  options.struct_size = sizeof options;
  pjrt::Buffer* const* const of_device = arguments.data();
  pjrt::Buffer** const out_of_device = outputs.data();
  pjrt::Event* done = nullptr;
  pjrt::ExecuteArgs args;
  args.executable = raw_;
  args.options = &options;
  args.arguments = &of_device;
  args.device_count = 1;
  args.argument_count = arguments.size();
  args.outputs = &out_of_device;
  args.done = &done;
  args.device = client_.device();
  HONE_TRY(plugin.call(plugin.api().execute, args, "a program"));
  return plugin.await(done, "a program");
}

Result<CompiledMemory> Compiled::memory() const {
  const Plugin& plugin = client_.plugin();
  pjrt::GetExecutableArgs get;
  get.loaded = raw_;
  HONE_TRY(plugin.call(plugin.api().loaded_executable, get, "a program's facts"));
  return memory_of(plugin, get.executable);
}

Result<std::unique_ptr<Client>> Client::open(std::shared_ptr<const Plugin> plugin, int ordinal) {
  std::unique_ptr<Client> c(new Client);
  const pjrt::Api& api = plugin->api();
  c->plugin_ = plugin;
  pjrt::ClientCreateArgs create;
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
    pjrt::DescriptionTextArgs kind;
    kind.description = description.description;
    HONE_TRY(plugin->call(api.description_kind, kind, "a device's kind"));
    c->kinds_.emplace_back(kind.text, kind.text_size);
  }
  if (ordinal < 0 || static_cast<size_t>(ordinal) >= devices.count)
    return Error(err::kNoTpu, fmt::format("there is no device {}: the platform {} has {}", ordinal,
                                          c->platform_, devices.count))
        .todo("give a number from 0; hone doctor lists the devices");
  c->device_ = devices.devices[ordinal];

  pjrt::DeviceMemoryArgs memory;
  memory.device = c->device_;
  if (plugin->call(api.device_memory, memory, "the device's memory").ok() &&
      memory.bytes_limit.is_set)
    c->memory_bytes_ = memory.bytes_limit.value;
  return c;
}

Client::~Client() {
  recent_.clear();
  if (raw_ == nullptr) return;
  pjrt::ClientArgs args;
  args.client = raw_;
  (void)plugin_->call(plugin_->api().client_destroy, args, "closing the platform");
}

Result<Buffer> Client::upload(const void* data, const Type& type) const {
  pjrt::BufferFromHostArgs args;
  args.client = raw_;
  args.data = data;
  args.type = element_type(type.dtype);
  args.dims = type.shape.data();
  args.rank = type.shape.size();
  args.device = device_;
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

Result<std::shared_ptr<const Compiled>> Client::compile(const std::string& text) const {
  const std::lock_guard lock(mutex_);
  const uint64_t key = fnv1a(text);
  if (auto made = compiled_[key].lock()) return made;
  const pjrt::SourceText source = source_of(text);
  const std::string options = compile_options();
  pjrt::ClientCompileArgs args;
  args.client = raw_;
  args.program = &source;
  args.options = options.data();
  args.options_size = options.size();
  HONE_TRY(dump(text, key));
  const double begin = system_clock().seconds();
  HONE_TRY(plugin_->call(plugin_->api().client_compile, args, "compiling a program"));
  ++compiles_;
  log_debug("{}: compiled {} bytes of StableHLO in {:.2f} s", platform_, text.size(),
            system_clock().seconds() - begin);
  const auto made = std::make_shared<const Compiled>(*this, args.executable);
  compiled_[key] = made;
  recent_.push_back(made);
  if (recent_.size() > kRecent) recent_.pop_front();
  return made;
}

int64_t Client::compiles() const {
  const std::lock_guard lock(mutex_);
  return compiles_;
}

}  // namespace hone::xla
