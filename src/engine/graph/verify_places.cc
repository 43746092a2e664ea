#include "engine/graph/verify_places.h"

#include <algorithm>

#include "engine/graph/errors.h"
#include "engine/graph/op.h"

namespace hone {
namespace {

class Places {
 public:
  explicit Places(const Program& program)
      : p(program),
        wait_of_(p.nodes.size(), -1),
        waited_for_(p.values.size(), false),
        last_read_(p.values.size(), -1),
        last_busy_(p.values.size(), -1) {}

  Status check() {
    for (const Named& n : p.inputs)
      if (p.space(n.value) != Space::device) return say("input", n.name, "it is not on the device");
    for (const State& s : p.states)
      if (p.space(s.value) != s.home) return say("state", s.name, "it is not in its home");
    for (size_t i = 0; i < p.nodes.size(); ++i) HONE_TRY(check_node_at(i));
    for (size_t i = 0; i < p.nodes.size(); ++i)
      if (is_begun(p.nodes[i]) && wait_of_[i] < 0) return broken(i, "nothing waits for it");
    for (const Named& n : p.outputs)
      if (p.space(n.value) != Space::device || issue_of(n.value) >= 0)
        return say("output", n.name, "it is not on the device");
    for (const State& s : p.states)
      if (s.next != kNoValue) HONE_TRY(check_next(s));
    return Ok{};
  }

 private:
  Error broken(size_t node, std::string what) const {
    const Node& n = p.nodes[node];
    return Error(err::kInvalidProgram, std::move(what))
        .at(fmt::format("program {}, node {} ({}), scope '{}'", p.name, node, n.op->name, n.scope));
  }
  Error say(std::string_view kind, const std::string& name, const std::string& what) const {
    return Error(err::kInvalidProgram,
                 fmt::format("program {}: {} '{}': {}", p.name, kind, name, what));
  }

  // The unfinished node whose result the value is, or -1.
  int32_t issue_of(ValueId v) const {
    const int32_t node = p.values[static_cast<size_t>(v)].node;
    return node >= 0 && is_begun(p.nodes[static_cast<size_t>(node)]) ? node : -1;
  }

  Lane lane_of(const Node& n) const {
    if (n.op->copies)
      return p.space(n.in[0]) == p.space(n.out[0])
                 ? n.lane
                 : lane_between(p.space(n.in[0]), p.space(n.out[0]));
    if (n.op->traffic) return Lane::comm;
    const NodeView view{p, n};
    const bool has_kernel = !n.op->waits && !(n.op->view_offset && n.op->view_offset(view) >= 0);
    return has_kernel && n.lane == Lane::host_compute ? n.lane : Lane::compute;
  }

  // `until`: the first wait for the node, up to which it reads its operands; unknown before it
  // comes.
  void read(ValueId v, int32_t at, int32_t until) {
    last_read_[static_cast<size_t>(v)] = std::max(last_read_[static_cast<size_t>(v)], at);
    last_busy_[static_cast<size_t>(v)] = std::max(last_busy_[static_cast<size_t>(v)], until);
  }

  Status check_node_at(size_t i) {
    const Node& n = p.nodes[i];
    const auto at = static_cast<int32_t>(i);
    for (size_t k = 0; k < n.out.size(); ++k)
      if (const Space space = result_space({p, n}, k); p.space(n.out[k]) != space)
        return broken(i, fmt::format("%{} is not in the space '{}'", n.out[k], name_of(space)));
    if (const Lane lane = lane_of(n); n.lane != lane)
      return broken(i, fmt::format("is on lane '{}', not '{}'", name_of(n.lane), name_of(lane)));
    if (n.op->copies && p.space(n.in[0]) == p.space(n.out[0]))
      return broken(
          i, fmt::format("copies from the space '{}' to itself", name_of(p.space(n.out[0]))));
    if (n.op->waits) {
      const int32_t issue = issue_of(n.in[0]);
      if (issue < 0)
        return broken(i, fmt::format("waits for %{}, which no other lane makes", n.in[0]));
      const Node& begun = p.nodes[static_cast<size_t>(issue)];
      if (waited_for_[static_cast<size_t>(n.in[0])])
        return broken(i, fmt::format("waits for %{} again", n.in[0]));
      waited_for_[static_cast<size_t>(n.in[0])] = true;
      int32_t& first = wait_of_[static_cast<size_t>(issue)];
      if (first >= 0) return Ok{};  // of another result
      first = at;
      for (ValueId v : begun.in)
        if (v != kNoValue) read(v, begun.op->copies ? at : issue, at);
      return Ok{};
    }
    for (ValueId v : n.in) {
      if (v == kNoValue) continue;
      read(v, at, at);
      if (issue_of(v) >= 0) return broken(i, fmt::format("reads %{}, not a wait for it", v));
      const Space space = p.space(v);
      if (!n.op->copies && space != Space::device &&
          !(n.lane == Lane::host_compute && space == Space::host))
        return broken(i, fmt::format("reads %{} on {}", v, name_of(space)));
    }
    return Ok{};
  }

  // An asynchronous node reads its operands until it is waited for, and writes its results from its
  // start. A kernel may write over an operand that only itself reads at that time.
  Status check_next(const State& s) const {
    if (p.space(s.next) != s.home) return say("state", s.name, "its new version is elsewhere");
    if (issue_of(s.next) >= 0)
      return say("state", s.name, "its new version is the result of a node that nothing waits for");
    const int32_t maker = p.values[static_cast<size_t>(s.next)].node;
    const Node& n = p.nodes[static_cast<size_t>(maker)];
    const int32_t begins = n.op->waits ? issue_of(n.in[0]) : maker;
    const Lane lane = p.nodes[static_cast<size_t>(begins)].lane;
    const bool by_lane = lane == Lane::host_compute || lane == Lane::comm;
    const int32_t until = by_lane ? last_read_[static_cast<size_t>(s.value)]
                                  : last_busy_[static_cast<size_t>(s.value)];
    if (until > begins)
      return say("state", s.name,
                 fmt::format("the old version is read by node {} after node {} wrote the new one",
                             until, begins));
    return Ok{};
  }

  const Program& p;
  std::vector<int32_t> wait_of_;  // by asynchronous node: the first wait for a result, or -1
  std::vector<bool> waited_for_;  // by value
  // By value, or -1: the last node that reads it, a copy as its wait; and that until which it is
  // read, a kernel of the host as its wait too.
  std::vector<int32_t> last_read_, last_busy_;
};

}  // namespace

Status verify_places(const Program& p) { return Places(p).check(); }

}  // namespace hone
