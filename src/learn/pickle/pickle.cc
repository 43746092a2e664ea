#include "learn/pickle/pickle.h"

#include "learn/pickle/errors.h"

namespace hone {

const Pickle::Box* Pickle::box(uint32_t at) const {
  const Node& n = nodes_[at];
  return n.kind >= PickleKind::list ? &boxes_[n.box] : nullptr;
}

PickleKind PickleValue::kind() const { return in_->node(at_).kind; }

int64_t PickleValue::integer() const {
  const Pickle::Node& n = in_->node(at_);
  return n.kind == PickleKind::integer || n.kind == PickleKind::boolean ? n.integer : 0;
}

double PickleValue::real() const {
  const Pickle::Node& n = in_->node(at_);
  return n.kind == PickleKind::real ? n.real : 0.0;
}

std::string_view PickleValue::text() const {
  const Pickle::Node& n = in_->node(at_);
  if (n.kind != PickleKind::text && n.kind != PickleKind::bytes) return {};
  return {n.data, static_cast<size_t>(n.length)};
}

bool PickleValue::is_global(std::string_view name) const {
  if (!is(PickleKind::global)) return false;
  const auto& names = in_->box(at_)->items;
  const std::string_view module = PickleValue(in_, names[0]).text();
  return name.size() > module.size() && name.starts_with(module) && name[module.size()] == '.' &&
         name.substr(module.size() + 1) == PickleValue(in_, names[1]).text();
}

std::string PickleValue::global() const {
  if (!is(PickleKind::global)) return {};
  const auto& names = in_->box(at_)->items;
  return fmt::format("{}.{}", PickleValue(in_, names[0]).text(), PickleValue(in_, names[1]).text());
}

int64_t PickleValue::size() const {
  const Pickle::Box* box = in_->box(at_);
  return box == nullptr || box->mapping || is(PickleKind::global)
             ? 0
             : static_cast<int64_t>(box->items.size());
}

PickleValue PickleValue::operator[](int64_t i) const {
  if (i < 0 || i >= size()) return {in_, 0};
  return {in_, in_->box(at_)->items[static_cast<size_t>(i)]};
}

int64_t PickleValue::pairs() const {
  const Pickle::Box* box = in_->box(at_);
  return box == nullptr || !box->mapping ? 0 : static_cast<int64_t>(box->items.size() / 2);
}

PickleValue PickleValue::key(int64_t i) const {
  if (i < 0 || i >= pairs()) return {in_, 0};
  return {in_, in_->box(at_)->items[static_cast<size_t>(2 * i)]};
}

PickleValue PickleValue::value(int64_t i) const {
  if (i < 0 || i >= pairs()) return {in_, 0};
  return {in_, in_->box(at_)->items[static_cast<size_t>(2 * i + 1)]};
}

PickleValue PickleValue::find(std::string_view wanted) const {
  for (int64_t i = pairs() - 1; i >= 0; --i)
    if (key(i).is(PickleKind::text) && key(i).text() == wanted) return value(i);
  return {in_, 0};
}

PickleValue PickleValue::callable() const {
  return {in_, is(PickleKind::object) ? in_->box(at_)->callable : 0};
}

PickleValue PickleValue::args() const {
  const bool has = is(PickleKind::object) || is(PickleKind::persistent);
  return {in_, has ? in_->box(at_)->args : 0};
}

PickleValue PickleValue::state() const {
  return {in_, is(PickleKind::object) ? in_->box(at_)->state : 0};
}

Error refused_class(const std::string& file, const std::string& name, std::string remedy) {
  return Error(err::kPickleClass,
               fmt::format("'{}' needs the class or function '{}', which hone does not know", file,
                           name))
      .todo(std::move(remedy));
}

}  // namespace hone
