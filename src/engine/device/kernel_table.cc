#include "engine/device/kernel_table.h"

#include <array>
#include <map>

#include "engine/device/lower.h"

namespace hone {

std::string kernel_table(const Program& p, const Backend& backend) {
  std::map<std::array<std::string, 4>, int64_t> lines;
  for (const Node& n : p.nodes) {
    const NodeView view{p, n};
    if (!has_kernel(view) || n.op->waits) continue;
    const Result<Choice> c = backend.choose(view);
    ++lines[{n.op->name, std::string(name_of(view.out(0).dtype)), c ? c->id : "decomposed",
             c ? c->note : c.error().what()}];
  }
  std::string text = fmt::format("{:>6}  {:<22} {:<5} {:<38} {}\n", "nodes", "op", "type", "kernel",
                                 "why not a faster one");
  for (const auto& [line, count] : lines) {
    text += fmt::format("{:>6}  {:<22} {:<5} {:<38} {}", count, line[0], line[1], line[2], line[3]);
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

}  // namespace hone
