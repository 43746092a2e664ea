#include "learn/train/exchanges.h"

#include <algorithm>
#include <utility>

namespace hone {
namespace {

constexpr size_t kUnderWay = 2;

void append_nodes(std::vector<Node>& from, std::vector<Node>& to) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

Exchanges::Exchanges(Program& program) : p_(program), before_(program.nodes.size()) {
  program.renumber_producers();
}

// The nodes that `emit` appends, taken out of the program.
std::vector<Node> Exchanges::nodes_of(FunctionRef<void()> emit) {
  const size_t first = p_.nodes.size();
  emit();
  std::vector<Node> nodes(
      std::make_move_iterator(p_.nodes.begin() + static_cast<std::ptrdiff_t>(first)),
      std::make_move_iterator(p_.nodes.end()));
  p_.nodes.resize(first);
  return nodes;
}

void Exchanges::add(const Values& operands, FunctionRef<void()> start, FunctionRef<void()> after) {
  Exchange e;
  for (const ValueId v : operands)
    e.ready = std::max(e.ready, static_cast<size_t>(p_.values[static_cast<size_t>(v)].node + 1));
  e.start = nodes_of(start);
  e.after = nodes_of(after);
  exchanges_.push_back(std::move(e));
}

void Exchanges::put_in_place() {
  std::vector<Node> nodes = std::exchange(p_.nodes, {});
  size_t started = 0, finished = 0;
  for (size_t i = 0; i <= before_; ++i) {
    for (; started < exchanges_.size() && exchanges_[started].ready <= i; ++started) {
      if (started >= finished + kUnderWay) append_nodes(exchanges_[finished++].after, p_.nodes);
      append_nodes(exchanges_[started].start, p_.nodes);
    }
    if (i < before_) p_.nodes.push_back(std::move(nodes[i]));
  }
  for (; finished < exchanges_.size(); ++finished)
    append_nodes(exchanges_[finished].after, p_.nodes);
  for (size_t i = before_; i < nodes.size(); ++i) p_.nodes.push_back(std::move(nodes[i]));
  p_.renumber_producers();
}

}  // namespace hone
