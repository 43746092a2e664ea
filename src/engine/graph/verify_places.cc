#include "engine/graph/verify_places.h"

#include "engine/graph/errors.h"
#include "engine/graph/op.h"

namespace hone {
namespace {

class Places {
 public:
  explicit Places(const Program& program)
      : p(program), wait_of_(p.nodes.size(), -1), last_read_(p.values.size(), -1) {}

  Status check() {
    for (const Named& n : p.inputs)
      if (p.space(n.value) != Space::device) return say("input", n.name, "it is not on the device");
    for (const State& s : p.states)
      if (p.space(s.value) != s.home) return say("state", s.name, "it is not in its home");
    for (size_t i = 0; i < p.nodes.size(); ++i) HONE_TRY(check_node_at(i));
    for (size_t i = 0; i < p.nodes.size(); ++i)
      if (p.nodes[i].op->copies && wait_of_[i] < 0) return broken(i, "nothing waits for it");
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

  // The copy whose result the value is, or -1.
  int32_t issue_of(ValueId v) const {
    const int32_t node = p.values[static_cast<size_t>(v)].node;
    return node >= 0 && p.nodes[static_cast<size_t>(node)].op->copies ? node : -1;
  }

  Status check_node_at(size_t i) {
    const Node& n = p.nodes[i];
    const Space space = result_space({p, n});
    for (ValueId v : n.out)
      if (p.space(v) != space)
        return broken(i, fmt::format("%{} is not in the space '{}'", v, name_of(space)));
    const Lane lane = n.op->copies ? lane_between(p.space(n.in[0]), space) : Lane::compute;
    if (n.lane != lane)
      return broken(i, fmt::format("is on lane '{}', not '{}'", name_of(n.lane), name_of(lane)));
    if (n.op->copies && p.space(n.in[0]) == space)
      return broken(i, fmt::format("copies from the space '{}' to itself", name_of(space)));
    if (n.op->waits) {
      const int32_t issue = issue_of(n.in[0]);
      if (issue < 0) return broken(i, fmt::format("waits for %{}, which is not a copy", n.in[0]));
      int32_t& wait = wait_of_[static_cast<size_t>(issue)];
      if (wait >= 0) return broken(i, fmt::format("waits for %{} again", n.in[0]));
      wait = static_cast<int32_t>(i);
      const ValueId source = p.nodes[static_cast<size_t>(issue)].in[0];
      last_read_[static_cast<size_t>(source)] = wait;
      return Ok{};
    }
    for (ValueId v : n.in) {
      if (v == kNoValue) continue;
      last_read_[static_cast<size_t>(v)] = static_cast<int32_t>(i);
      if (issue_of(v) >= 0) return broken(i, fmt::format("reads %{}, not a wait for it", v));
      if (!n.op->copies && p.space(v) != Space::device)
        return broken(i, fmt::format("reads %{} on {}", v, name_of(p.space(v))));
    }
    return Ok{};
  }

  // A copy reads its operand until it is waited for, and writes its result from its issue.
  Status check_next(const State& s) const {
    if (p.space(s.next) != s.home) return say("state", s.name, "its new version is elsewhere");
    if (issue_of(s.next) >= 0)
      return say("state", s.name, "its new version is a copy that nothing waits for");
    const int32_t maker = p.values[static_cast<size_t>(s.next)].node;
    const Node& n = p.nodes[static_cast<size_t>(maker)];
    const int32_t begins = n.op->waits ? issue_of(n.in[0]) : maker;
    const int32_t until = last_read_[static_cast<size_t>(s.value)];
    if (until > begins)
      return say("state", s.name,
                 fmt::format("the old version is read by node {} after node {} wrote the new one",
                             until, begins));
    return Ok{};
  }

  const Program& p;
  std::vector<int32_t> wait_of_;    // by node: of a copy, or -1
  std::vector<int32_t> last_read_;  // by value: the last node that reads it, or -1
};

}  // namespace

Status verify_places(const Program& p) { return Places(p).check(); }

}  // namespace hone
