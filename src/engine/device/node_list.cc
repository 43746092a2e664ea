// The Executable that calls a kernel for each node, with copies, collectives and host kernels on their
// lanes.
#include <algorithm>

#include "engine/device/accesses.h"
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

int64_t aligned(int64_t end, int64_t alignment) {
  return (end + alignment - 1) / alignment * alignment;
}

class NodeList : public Executable {
 public:
  explicit NodeList(Device& device) : device_(device), queue_(device.queue(Lane::compute)) {}
  // A run that a mistake ended may have left work that reads and writes the arenas.
  ~NodeList() override {
    for (Queue* lane : lanes_)
      if (lane) lane->finish();
  }
  NodeList(const NodeList&) = delete;

  // The places are offsets until bind().
  Status add(const Backend& backend, const Program& p, const RunPlan& plan,
             const ProgramPlan& places) {
    std::vector<Call>& calls = calls_.emplace_back();
    for (const Space s : kSpaces) {
      planned_[s] = plan.used_bytes(s);
      reach(s, plan.state_bytes[s] + places.phase_bytes[s]);
    }
    const auto place = [&](ValueId v) -> Place {
      if (v == kNoValue) return {};
      const Place at{p.space(v), places.offset[static_cast<size_t>(v)]};
      HONE_BUG_IF(at.offset < 0, "value %{} of program {} has no place", v, p.name);
      // A view may begin anywhere inside its operand's buffer.
      reach(at.space, aligned(at.offset + p.type(v).bytes(), plan.alignment[at.space]));
      return at;
    };
    for (size_t k = 0; k < p.nodes.size(); ++k) {
      const NodeView n{p, p.nodes[k]};
      Call c;
      for (ValueId v : n.node.in) c.in_place.push_back(place(v));
      for (ValueId v : n.node.out) c.out_place.push_back(place(v));
      c.workspace_offset = places.workspace_offset[k];
      if (n.node.lane == Lane::host_compute || n.node.lane == Lane::comm) {
        for (const std::vector<Place>* of : {&c.in_place, &c.out_place})
          for (const Place& at : *of)
            HONE_BUG_IF(n.node.lane == Lane::host_compute && at.space == Space::device &&
                            !device_.host_memory(),
                        "program {}, node {}: the host reads the device's memory", p.name, k);
        c.kernel = HONE_TRY(backend.kernel(n));
        for (size_t i = 0; i < n.node.in.size(); ++i)
          c.accesses.push_back({.bytes = n.has(i) ? n.in(i).bytes() : 0});
        for (size_t i = 0; i < n.node.out.size(); ++i)
          c.accesses.push_back({.bytes = n.out(i).bytes(), .writes = true});
        c.accesses.push_back({.bytes = c.kernel.workspace_bytes, .writes = true});
        c.lane = lanes_[static_cast<size_t>(n.node.lane)] = &device_.queue(n.node.lane);
      } else if (n.node.op->copies) {
        c.bytes = n.out(0).bytes();
        c.lane = lanes_[static_cast<size_t>(n.node.lane)] = &device_.queue(n.node.lane);
      } else if (n.node.op->waits) {
        c.waits_for = p.values[static_cast<size_t>(n.input(0))].node;
        HONE_BUG_IF(c.in_place[0].offset != c.out_place[0].offset,
                    "program {}, node {}: a wait is not where its value is", p.name, k);
      } else {
        c.kernel = is_view(n) ? view_kernel(n) : HONE_TRY(backend.kernel(n));
      }
      c.scratch = workspace_space(n.node);
      if (c.kernel.workspace_bytes > 0)
        reach(c.scratch,
              aligned(c.workspace_offset + c.kernel.workspace_bytes, plan.alignment[c.scratch]));
      calls.push_back(std::move(c));
    }
    return Ok{};
  }

  void bind(const PerSpace<std::byte*>& arenas, std::vector<Ports> ports) override {
    ports_ = std::move(ports);
    for (const Space s : kSpaces)
      HONE_BUG_IF(reached_[s] != planned_[s], "the programs reach {} bytes of {}, the plan says {}",
                  reached_[s], name_of(s), planned_[s]);
    const auto address = [&](const Place& p) {
      return p.offset < 0 ? nullptr : arenas[p.space] + p.offset;
    };
    for (std::vector<Call>& calls : calls_)
      for (Call& c : calls) {
        c.in.clear();
        c.out.clear();
        for (const Place& p : c.in_place) c.in.push_back(address(p));
        for (const Place& p : c.out_place) c.out.push_back(address(p));
        c.workspace = arenas[c.scratch] + c.workspace_offset;
        size_t noted = 0;
        if (!c.accesses.empty()) {
          for (const void* in : c.in) c.accesses[noted++].at = in;
          for (const void* out : c.out) c.accesses[noted++].at = out;
          c.accesses[noted].at = c.workspace;
        }
        if (c.lane && c.kernel.run)
          c.work = [&c] { c.kernel.run({c.in.data(), c.out.data(), c.workspace, *c.lane}); };
      }
  }

  void run(size_t program, NodeWatch* watch) override {
    std::vector<Call>& calls = calls_[program];
    const auto& [loads, stores] = ports_[program];
    if (!loads.empty()) queue_.copy(loads);
    for (size_t k = 0; k < calls.size(); ++k) {
      Call& c = calls[k];
      if (watch) watch->begin(k);
      if (c.lane) {
        c.lane->wait(queue_, queue_.record());
        if (c.work && c.kernel.queues) {
          c.work();
        } else if (c.work) {
          note_accesses(c.accesses);
          c.lane->run(c.work);
        } else {
          copy_value(c);
        }
        c.mark = c.lane->record();
      } else if (c.waits_for >= 0) {
        const Call& begun = calls[static_cast<size_t>(c.waits_for)];
        queue_.wait(*begun.lane, begun.mark);
      } else {
        c.kernel.run({c.in.data(), c.out.data(), c.workspace, queue_});
      }
      if (watch) watch->end(k);
    }
    if (!stores.empty()) queue_.copy(stores);
  }

 private:
  struct Place {
    Space space = Space::device;
    int64_t offset = -1;  // -1: an absent operand
  };
  struct Call {
    Kernel kernel;
    std::vector<Place> in_place, out_place;
    int64_t workspace_offset = 0;
    Space scratch = Space::device;  // where the workspace is
    std::vector<const void*> in;
    std::vector<void*> out;
    void* workspace = nullptr;
    Queue* lane = nullptr;         // of a node that has started but is not done
    std::function<void()> work;    // of a kernel on that lane
    std::vector<Access> accesses;  // by it
    int64_t bytes = 0;             // of a copy
    uint64_t mark = 0;             // of the lane, after this node in the latest run
    int32_t waits_for = -1;        // the node, by its number
  };
  static void copy_value(const Call& c) {
    const Copy whole{c.out[0], c.in[0], c.bytes, true};
    c.lane->copy({&whole, 1});
  }
  void reach(Space s, int64_t bytes) { reached_[s] = std::max(reached_[s], bytes); }

  Device& device_;
  Queue& queue_;
  std::array<Queue*, kLaneCount> lanes_{};
  std::vector<std::vector<Call>> calls_;
  std::vector<Ports> ports_;
  PerSpace<int64_t> reached_, planned_;
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
