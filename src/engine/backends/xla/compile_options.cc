#include "engine/backends/xla/compile_options.h"

#include <charconv>
#include <fstream>

#include "base/core/hash.h"
#include "base/core/protobuf.h"
#include "base/core/text.h"
#include "engine/backends/xla/errors.h"
#include "engine/device/tpus.h"

namespace hone::xla {
namespace {

// Sums of several ranks up to this size are made together, where the compiler makes reduce_scatters from them (v2, v3).
// More would be in memory at once: the gradients of several layers.
constexpr int64_t kCombinedSumBytes = 4 << 20;

}  // namespace

std::string compile_options(const CompileSettings& settings) {
  using namespace protobuf;
  const int64_t replicas = settings.replicas;
  // executable_build_options: device_ordinal, num_replicas, num_partitions, device_assignment.
  std::string build = number(1, -1) + number(4, replicas) + number(5, 1);
  if (!settings.device_ids.empty()) {
    // replica_count, computation_count, computation_devices with the ids of the replicas' devices.
    std::string devices;
    for (const int64_t id : settings.device_ids) devices += number(1, id);
    build += bytes(9, number(1, replicas) + number(2, 1) + bytes(3, devices));
  }
  std::string all = bytes(3, build);
  if (replicas == 1) all += number(4, 1);  // compile_portable_executable
  if (settings.tpu) {
    // env_option_overrides: a name, and an OptionOverrideProto with bool_field or int_field.
    const auto add = [&](const char* name, const std::string& value) {
      all += bytes(7, bytes(1, name) + bytes(2, value));
    };
    add("xla_tpu_enable_deduplicated_calls", number(2, 1));
    add("xla_jf_crs_combiner_threshold_in_bytes", number(3, kCombinedSumBytes));
  }
  return all;
}

Result<int64_t> fewest_loop_layers() {
  const std::string given = environment("HONE_XLA_LOOPS");
  if (given.empty()) return kFewestLoopLayers;
  int64_t layers = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), layers);
  if (error != std::errc() || end != given.data() + given.size() || layers < 2)
    return Error(err::kXlaFails, fmt::format("HONE_XLA_LOOPS is '{}'", given))
        .todo(
            "set it to the smallest number of equal layers that become a loop, at least 2, or "
            "unset it");
  return layers;
}

Status dump_text(const std::string& text) {
  const std::string folder = environment("HONE_XLA_DUMP");
  if (folder.empty()) return Ok{};
  const std::string file = fmt::format("{}/{:016x}.mlir", folder, fnv1a(text));
  std::ofstream out(file);
  if (!(out << text).flush())
    return Error(err::kXlaFails, fmt::format("{} cannot be written", file))
        .todo("let HONE_XLA_DUMP name a folder that exists");
  return Ok{};
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
