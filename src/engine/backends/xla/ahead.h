// Compiles programs for TPUs that this machine does not have. libtpu contains the compiler of each TPU generation,
// and reports the exact memory of a program.
//   const auto v5e = HONE_TRY(AheadCompiler::open("v5e:1x1"));
//   const CompiledMemory m = HONE_TRY(v5e->compile(write_module(program).text));
#pragma once

#include "engine/backends/xla/client.h"

namespace hone::xla {

class AheadCompiler {
 public:
  // Loads libtpu. topology: libtpu's name of a slice, such as "v5e:1x1": a generation and a grid of chips. Errors:
  // H1361 libtpu is not installed, H1363 libtpu does not know the topology.
  static Result<std::unique_ptr<AheadCompiler>> open(const std::string& topology);
  ~AheadCompiler();
  AheadCompiler(const AheadCompiler&) = delete;

  // Compiles a StableHLO module and returns the memory that it takes on each device. replicas: the number of devices of
  // the slice that run the module together, either 1 or all of them. H1363: the module does not compile, or does not
  // fit into the memory of a device.
  Result<CompiledMemory> compile(const std::string& text, int replicas = 1) const;
  const Plugin& plugin() const { return *plugin_; }

 private:
  AheadCompiler() = default;
  std::shared_ptr<const Plugin> plugin_;
  pjrt::Topology* topology_ = nullptr;
};

}  // namespace hone::xla
