#include "engine/backends/xla/ahead.h"

#include <cstdlib>

#include "engine/backends/xla/compile_options.h"

namespace hone::xla {

Result<std::unique_ptr<AheadCompiler>> AheadCompiler::open(const std::string& topology) {
  const std::string file = HONE_TRY(find_libtpu());
  // It would ask a metadata server which machine this is, and print that it does not know.
  setenv("TPU_SKIP_MDS_QUERY", "1", 0);
  setenv("TPU_WORKER_HOSTNAMES", "localhost", 0);
  setenv("ALLOW_MULTIPLE_LIBTPU_LOAD", "1", 0);  // no device is opened
  std::unique_ptr<AheadCompiler> made(new AheadCompiler);
  made->plugin_ = HONE_TRY(Plugin::load(file));
  pjrt::TopologyCreateArgs args;
  args.name = topology.data();
  args.name_size = topology.size();
  HONE_TRY(
      made->plugin_->call(made->plugin_->api().topology_create, args, "describing a TPU slice"));
  made->topology_ = args.topology;
  return made;
}

AheadCompiler::~AheadCompiler() {
  if (topology_ == nullptr) return;
  pjrt::TopologyArgs args;
  args.topology = topology_;
  (void)plugin_->call(plugin_->api().topology_destroy, args, "freeing a slice");
}

Result<CompiledMemory> AheadCompiler::compile(const std::string& text, int replicas) const {
  HONE_TRY(dump_text(text));
  const std::string options = compile_options({.replicas = replicas, .tpu = true});
  const pjrt::SourceText source = source_of(text);
  pjrt::CompileArgs args;
  args.topology = topology_;
  args.program = &source;
  args.options = options.data();
  args.options_size = options.size();
  HONE_TRY(plugin_->call(plugin_->api().compile, args, "compiling a program"));
  return memory_of(*plugin_, args.executable);
}

}  // namespace hone::xla
