#include "engine/backends/cuda/graphs.h"

#include "base/core/log.h"

namespace hone::cuda {
namespace {

// A node ends when the device has done it.
class Finished : public NodeWatch {
 public:
  Finished(NodeWatch& told, Queue& queue) : told_(told), queue_(queue) {}
  void begin(size_t node) override { told_.begin(node); }
  void end(size_t node) override {
    queue_.finish();
    told_.end(node);
  }

 private:
  NodeWatch& told_;
  Queue& queue_;
};

class Graphs : public Executable {
 public:
  Graphs(CudaDevice& device, std::unique_ptr<Executable> list, size_t programs)
      : device_(device), list_(std::move(list)), graphs_(programs) {}
  ~Graphs() override { drop(); }

  // A graph holds the addresses of its time.
  void bind(const PerSpace<std::byte*>& arenas, std::vector<Ports> ports) override {
    drop();
    list_->bind(arenas, std::move(ports));
  }

  void run(size_t program, NodeWatch* watch) override {
    if (watch != nullptr) {
      Finished finished(*watch, device_.queue(Lane::compute));
      return list_->run(program, &finished);
    }
    Graph& g = graphs_[program];
    if (g.exec != nullptr)
      return device_.keep(device_.driver().cuGraphLaunch(g.exec, stream()), "cuGraphLaunch");
    list_->run(program, nullptr);
    if (!use_) return;
    const Status made = make(program, g);
    if (made.ok()) return;
    use_ = false;
    log_warning("steps are started kernel by kernel, which is slower: {}", made.error().what());
  }

 private:
  struct Graph {
    CUgraphExec exec = nullptr;
    std::deque<DiskWork> works;
  };
  CUstream stream() const { return static_cast<CudaQueue&>(device_.queue(Lane::compute)).stream(); }

  Status make(size_t program, Graph& g) {
    const Driver& d = device_.driver();
    HONE_TRY(device_.begin_capture(g.works));
    list_->run(program, nullptr);
    const CUgraph graph = HONE_TRY(device_.end_capture());
    Status made = cuda_status(d, d.cuGraphInstantiate(&g.exec, graph, 0), "cuGraphInstantiate");
    device_.keep(d.cuGraphDestroy(graph), "cuGraphDestroy");
    HONE_TRY(made);
    return cuda_status(d, d.cuGraphUpload(g.exec, stream()), "cuGraphUpload");
  }

  void drop() {
    device_.queue(Lane::compute).finish();
    for (Graph& g : graphs_) {
      if (g.exec != nullptr)
        device_.keep(device_.driver().cuGraphExecDestroy(g.exec), "cuGraphExecDestroy");
      g = {};
    }
  }

  CudaDevice& device_;
  std::unique_ptr<Executable> list_;
  std::vector<Graph> graphs_;
  bool use_ = true;  // until the driver does not make one
};

}  // namespace

std::unique_ptr<Executable> make_graphs(CudaDevice& device, std::unique_ptr<Executable> list,
                                        size_t programs) {
  return std::make_unique<Graphs>(device, std::move(list), programs);
}

}  // namespace hone::cuda
