#include <algorithm>

#include "engine/device/backend.h"
#include "engine/device/lower.h"

namespace hone {
namespace {

// The plan lets a view share its operand's storage; where it may not, the bytes are copied.
Kernel view_kernel(const NodeView& n) {
  const int64_t offset = n.node.op->view_offset(n), bytes = n.out(0).bytes();
  return {"view", 0, [offset, bytes](const KernelArgs& a) {
            const auto* from = static_cast<const std::byte*>(a.in[0]) + offset;
            if (from != a.out[0]) a.queue.copy(a.out[0], from, bytes);
          }};
}

int64_t aligned(int64_t end) {
  return (end + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

class NodeList : public Executable {
 public:
  explicit NodeList(Device& device) : queue_(device.queue(Lane::compute)) {}

  // The places are offsets until bind().
  Status add(const Backend& backend, const Program& p, const RunPlan& plan,
             const ProgramPlan& places) {
    std::vector<Call>& calls = calls_.emplace_back();
    planned_ = plan.used_bytes();
    reached_ = std::max(reached_, plan.state_bytes + places.phase_bytes);
    const auto place = [&](ValueId v) -> int64_t {
      if (v == kNoValue) return -1;
      const int64_t offset = places.offset[static_cast<size_t>(v)];
      HONE_BUG_IF(offset < 0, "value %{} of program {} has no place", v, p.name);
      // A view may begin anywhere inside its operand's buffer.
      reached_ = std::max(reached_, aligned(offset + p.type(v).bytes()));
      return offset;
    };
    for (size_t k = 0; k < p.nodes.size(); ++k) {
      const NodeView n{p, p.nodes[k]};
      Call c;
      c.kernel = is_view(n) ? view_kernel(n) : HONE_TRY(backend.kernel(n));
      for (ValueId v : n.node.in) c.in_offset.push_back(place(v));
      for (ValueId v : n.node.out) c.out_offset.push_back(place(v));
      c.workspace_offset = places.workspace_offset[k];
      if (c.kernel.workspace_bytes > 0)
        reached_ = std::max(reached_, aligned(c.workspace_offset + c.kernel.workspace_bytes));
      calls.push_back(std::move(c));
    }
    return Ok{};
  }

  void bind(std::byte* arena) override {
    HONE_BUG_IF(reached_ != planned_, "the programs reach {} bytes, the plan says {}", reached_,
                planned_);
    for (std::vector<Call>& calls : calls_)
      for (Call& c : calls) {
        c.in.clear();
        c.out.clear();
        for (int64_t at : c.in_offset) c.in.push_back(at < 0 ? nullptr : arena + at);
        for (int64_t at : c.out_offset) c.out.push_back(at < 0 ? nullptr : arena + at);
        c.workspace = arena + c.workspace_offset;
      }
  }

  void run(size_t program, NodeWatch* watch) override {
    const std::vector<Call>& calls = calls_[program];
    for (size_t k = 0; k < calls.size(); ++k) {
      const Call& c = calls[k];
      if (watch) watch->begin(k);
      c.kernel.run({c.in.data(), c.out.data(), c.workspace, queue_});
      if (watch) watch->end(k);
    }
  }

 private:
  struct Call {
    Kernel kernel;
    std::vector<int64_t> in_offset, out_offset;  // -1: an absent operand
    int64_t workspace_offset = 0;
    std::vector<const void*> in;
    std::vector<void*> out;
    void* workspace = nullptr;
  };
  Queue& queue_;
  std::vector<std::vector<Call>> calls_;
  int64_t reached_ = 0, planned_ = 0;
};

}  // namespace

Result<std::unique_ptr<Executable>> make_node_list(const Backend& backend,
                                                   std::span<const Program> programs,
                                                   const RunPlan& plan) {
  auto list = std::make_unique<NodeList>(backend.device());
  for (size_t i = 0; i < programs.size(); ++i)
    HONE_TRY(list->add(backend, programs[i], plan, plan.programs[i]));
  return std::unique_ptr<Executable>(std::move(list));
}

}  // namespace hone
