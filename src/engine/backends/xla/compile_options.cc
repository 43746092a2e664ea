#include "engine/backends/xla/compile_options.h"

namespace hone::xla {

std::string compile_options() {
  std::string build("\x08", 1);  // device_ordinal = -1
  build += std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
  build += std::string("\x20\x01\x28\x01", 4);  // num_replicas, num_partitions = 1
  std::string all("\x1a", 1);                   // executable_build_options
  all += static_cast<char>(build.size());
  return all + build + std::string("\x20\x01", 2);  // compile_portable_executable
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
