// Compiles programs for TPUs that are not here: libtpu has the compiler of each generation and needs
// no TPU for it. It says exactly what memory a program takes.
//   const auto v5e = HONE_TRY(AheadCompiler::open("v5e:1x1"));
//   const CompiledMemory m = HONE_TRY(v5e->compile(write_module(program).text));
#pragma once

#include "engine/backends/xla/client.h"

namespace hone::xla {

class AheadCompiler {
 public:
  // `topology` as libtpu names it: a generation and the chips of a slice. Errors: H1361 libtpu is not
  // installed, H1363 it does not know the topology.
  static Result<std::unique_ptr<AheadCompiler>> open(const std::string& topology);
  ~AheadCompiler();
  AheadCompiler(const AheadCompiler&) = delete;

  // For one device of the slice, or as replicas on all of them. H1363: the program does not compile, or does not
  // fit into the memory of the device.
  Result<CompiledMemory> compile(const std::string& text, int replicas = 1) const;
  const Plugin& plugin() const { return *plugin_; }

 private:
  AheadCompiler() = default;
  std::shared_ptr<const Plugin> plugin_;
  pjrt::Topology* topology_ = nullptr;
};

}  // namespace hone::xla
