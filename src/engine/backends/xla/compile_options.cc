#include "engine/backends/xla/compile_options.h"

namespace hone::xla {

namespace {

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes += static_cast<char>(value % 128 + 128);
  return bytes + static_cast<char>(value);
}

}  // namespace

std::string compile_options(int replicas) {
  std::string build = "\x08" + varint(~uint64_t{0});  // device_ordinal = -1
  build += "\x20" + varint(static_cast<uint64_t>(replicas)) +
           "\x28\x01";                                            // num_replicas, num_partitions
  const std::string all = "\x1a" + varint(build.size()) + build;  // executable_build_options
  return replicas > 1 ? all : all + "\x20\x01";                   // compile_portable_executable
}

pjrt::SourceText source_of(const std::string& text) {
  static constexpr std::string_view kFormat = "mlir";
  pjrt::SourceText source;
  source.struct_size = sizeof source;
  source.code = text.data();
  source.code_size = text.size();
  source.format = kFormat.data();
  source.format_size = kFormat.size();
  return source;
}

Result<CompiledMemory> memory_of(const Plugin& plugin, pjrt::Executable* executable) {
  pjrt::CompiledMemoryArgs args;
  args.executable = executable;
  const Status read = plugin.call(plugin.api().compiled_memory, args, "a program's memory");
  pjrt::ExecutableArgs destroy;
  destroy.executable = executable;
  (void)plugin.call(plugin.api().executable_destroy, destroy, "freeing a program's facts");
  if (!read.ok()) return read.error();
  return CompiledMemory{args.code_bytes, args.argument_bytes, args.output_bytes, args.alias_bytes,
                        args.temporary_bytes};
}

}  // namespace hone::xla
