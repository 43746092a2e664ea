// The options of a compilation by a PJRT plug-in, and the memory that the compiler reports.
#pragma once

#include <span>
#include <string>

#include "engine/backends/xla/plugin.h"

namespace hone::xla {

struct CompileSettings {
  // Number of devices that run the program together. A program for 1 can run on any device.
  int replicas = 1;
  // The plug-in's ids of the replicas' devices, by replica; empty: the compiler chooses.
  std::span<const int64_t> device_ids = {};
  // true: sets libtpu's own options. Equal operations then share their code, which the compiler otherwise repeats for
  // each layer, and only small sums over ranks are combined.
  bool tpu = false;
};

// A serialized CompileOptionsProto (xla/pjrt/proto/compile_options.proto), for one partition.
std::string compile_options(const CompileSettings& settings);
// The smallest number of equal layers that become a loop (ModuleOptions): the variable HONE_XLA_LOOPS, else
// kFewestLoopLayers. H1363: the variable is not a whole number from 2.
Result<int64_t> fewest_loop_layers();
// Writes a program's text into the folder that the variable HONE_XLA_DUMP names; does nothing if it is unset. H1363:
// the file cannot be written.
Status dump_text(const std::string& text);
// The program `text` (StableHLO) as the argument for a plug-in's compiler. `text` must outlive it.
pjrt::SourceText source_of(const std::string& text);

// The device memory of a compiled program that the compiler reports. alias_bytes: results that are written over
// arguments.
struct CompiledMemory {
  int64_t code_bytes = 0, argument_bytes = 0, output_bytes = 0, alias_bytes = 0,
          temporary_bytes = 0;
};

// Reads the memory report of an executable and destroys the executable. H1363: the plug-in cannot give the report.
Result<CompiledMemory> memory_of(const Plugin& plugin, pjrt::Executable* executable);

}  // namespace hone::xla
