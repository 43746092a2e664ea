// The options of a compilation, and the facts that it reports.
#pragma once

#include <span>
#include <string>

#include "engine/backends/xla/plugin.h"

namespace hone::xla {

struct CompileSettings {
  // One is for any device; several are for the devices with these ids, or for those of the compiler's
  // choice.
  int replicas = 1;
  std::span<const int64_t> device_ids = {};
  bool tpu = false;  // equal operations of layers share their code, which the compiler else repeats
};

// A serialized CompileOptionsProto (xla/pjrt/proto/compile_options.proto): one partition.
std::string compile_options(const CompileSettings& settings);
// Writes the text of a program that is compiled into the folder that HONE_XLA_DUMP names, if it is set. H1363: the
// file cannot be written.
Status dump_text(const std::string& text);
// `text` must outlive it.
pjrt::SourceText source_of(const std::string& text);
// Memory of one compiled program, by the compiler.
struct CompiledMemory {
  int64_t code_bytes = 0, argument_bytes = 0, output_bytes = 0, alias_bytes = 0,
          temporary_bytes = 0;
};

// Reads the facts of an executable and destroys it.
Result<CompiledMemory> memory_of(const Plugin& plugin, pjrt::Executable* executable);

}  // namespace hone::xla
