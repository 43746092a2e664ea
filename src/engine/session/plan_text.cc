#include "engine/session/plan_text.h"

namespace hone {
namespace {

// "h.0.mlp", "backward h.0.mlp"
std::string place_of(const Node& n) {
  return n.phase == Phase::forward ? n.scope : fmt::format("{} {}", name_of(n.phase), n.scope);
}

std::string on(Space space) {
  return space == Space::device ? "" : fmt::format(" on {}", name_of(space));
}

std::string arenas_text(const Session& session) {
  const RunPlan& plan = session.plan();
  const ProgramPlan& own = plan.programs[0];
  std::string text =
      fmt::format("arena {} bytes: states {}, transients {} (at least {} live at node {})\n",
                  plan.arena_bytes(), plan.used_bytes() - own.transient_bytes[Space::device],
                  own.transient_bytes[Space::device], own.live_bytes, own.peak_node);
  for (const auto& [purpose, bytes] : plan.by_purpose())
    text += fmt::format("  {:<16} {:>12}\n", purpose, bytes);
  for (const Space space : {Space::host, Space::disk})
    if (const int64_t bytes = plan.arena_bytes(space); bytes > 0)
      text += fmt::format("arena on {} {} bytes\n", name_of(space), bytes);
  int64_t launches = 0;
  for (const Choice& c : session.choices(0)) launches += c.launches;
  if (launches > 0) text += fmt::format("{} kernels are launched in a run\n", launches);
  if (own.traffic_bytes > 0)
    text += fmt::format("{} bytes are sent to other ranks in a run\n", own.traffic_bytes);
  return text;
}

std::string states_text(const RunPlan& plan) {
  std::string text = fmt::format("\n{:>12} {:>12}  states\n", "offset", "bytes");
  for (const StateSlot& s : plan.states)
    text += fmt::format("{:>12} {:>12}  {} {}{}\n", s.offset, s.type.bytes(), s.name, s.type.text(),
                        on(s.home));
  return text;
}

std::string nodes_text(const Session& session) {
  const Program& p = session.programs()[0];
  const ProgramPlan& own = session.plan().programs[0];
  std::string text = fmt::format("\n{:>5} {:>12} {:>12}  {:<22} {:<28} schedule\n", "node",
                                 "offset", "bytes", "kernel", "result");
  for (size_t k = 0; k < p.nodes.size(); ++k) {
    for (size_t o = 0; o < p.nodes[k].out.size(); ++o) {
      const ValueId v = p.nodes[k].out[o];
      const std::string result = fmt::format("%{} {}{}", v, p.type(v).text(), on(p.space(v)));
      text += fmt::format("{:>5} {:>12} {:>12}  {:<22} {:<28} {} {}\n",
                          o == 0 ? std::to_string(k) : "", own.offset[static_cast<size_t>(v)],
                          p.type(v).bytes(), o == 0 ? session.choices(0)[k].id : "", result,
                          p.nodes[k].op->name, place_of(p.nodes[k]));
    }
  }
  return text;
}

}  // namespace

std::string plan_text(const Session& session) {
  return arenas_text(session) + states_text(session.plan()) + nodes_text(session);
}

}  // namespace hone
