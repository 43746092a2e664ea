#include "engine/backends/xla/replicas.h"

#include <algorithm>

#include "base/core/text.h"
#include "engine/backends/xla/write_ops.h"
#include "engine/device/errors.h"
#include "engine/graph/op.h"

namespace hone::xla {
namespace {

Error differ(const Program& p, const std::string& what) {
  return Error(err::kDeclined, fmt::format("the ranks' programs {} differ: {}", p.name, what))
      .todo(
          "take zero_stage 0, or an optimizer whose rule works element by element, such as "
          "adamw_torch");
}

// Rows of a type's first axis; 1 for a scalar.
int64_t rows_of(const Type& type) { return type.shape.empty() ? 1 : type.shape[0]; }

bool differ_in_rows_alone(const Type& a, const Type& b) {
  return a.dtype == b.dtype && a.shape.size() == b.shape.size() && !a.shape.empty() &&
         std::equal(a.shape.begin() + 1, a.shape.end(), b.shape.begin() + 1);
}

class Comparison {
 public:
  explicit Comparison(std::span<const Program* const> ranks) : ranks_(ranks), first_(*ranks[0]) {}

  Result<Replicas> compare() {
    for (const Program* own : ranks_) {
      if (own->nodes.size() != first_.nodes.size() || own->states.size() != first_.states.size() ||
          own->inputs.size() != first_.inputs.size() || own->values.size() != first_.values.size())
        return differ(first_, "they have other nodes or states");
      for (size_t i = 0; i < first_.nodes.size(); ++i) HONE_TRY(compare_node(*own, i));
    }
    for (size_t v = 0; v < first_.values.size(); ++v)
      HONE_TRY(compare_value(static_cast<ValueId>(v)));
    find_widest();
    if (made_.widest == nullptr) return differ(first_, "no rank has the most rows of every weight");
    for (size_t i = 0; i < first_.nodes.size(); ++i) {
      HONE_TRY(expect_rows_apart(i));
      note_begins(i);
    }
    for (const Named& input : first_.inputs)
      if (made_.rows.contains(input.value))
        return differ(first_, fmt::format("they have other rows of {}", input.name));
    return std::move(made_);
  }

 private:
  // Nodes but for the rows that they make, take, and the rank that they name.
  Status compare_node(const Program& own, size_t i) const {
    const Node &a = first_.nodes[i], &b = own.nodes[i];
    Attrs x = a.attrs, y = b.attrs;
    const auto ignore = [&](const char* name) { x.erase(name), y.erase(name); };
    if (a.op->name == "slice") ignore("begin"), ignore("end");
    if (a.op->traffic != nullptr) ignore("rank");
    if (first_.type(a.out[0]) != own.type(b.out[0])) ignore("shape");
    if (a.op != b.op || a.in != b.in || a.out != b.out || !(x == y))
      return differ(first_, fmt::format("node {} is {} and {}", i, a.op->name, b.op->name));
    return Ok{};
  }

  Status compare_value(ValueId v) {
    std::vector<int64_t> rows;
    bool equal = true;
    for (const Program* own : ranks_) {
      const Type &a = first_.type(v), &b = own->type(v);
      equal = equal && a == b;
      if (a != b && !differ_in_rows_alone(a, b))
        return differ(first_, fmt::format("a value is {} and {}", a.text(), b.text()));
      rows.push_back(rows_of(b));
    }
    if (!equal) made_.rows.emplace(v, std::move(rows));
    return Ok{};
  }

  void find_widest() {
    for (size_t r = ranks_.size(); r-- > 0;)
      if (std::all_of(made_.rows.begin(), made_.rows.end(), [&](const auto& v) {
            return v.second[r] == *std::max_element(v.second.begin(), v.second.end());
          })) {
        made_.widest = ranks_[r];
        return;
      }
  }

  bool has_other_rows(ValueId v) const { return v != kNoValue && made_.rows.contains(v); }

  // A node keeps the rows of a rank before those that mean nothing.
  Status expect_rows_apart(size_t i) const {
    const Node& n = first_.nodes[i];
    if (n.op->traffic != nullptr ||
        std::none_of(n.in.begin(), n.in.end(), [&](ValueId v) { return has_other_rows(v); }))
      return Ok{};
    const NodeView view{first_, n};
    const std::string& name = n.op->name;
    const bool kept = is_elementwise(*n.op) || name == "copy" || name == "wait" ||
                      name == "reshape" || name == "quantize_dynamic" ||
                      name == "dequantize_dynamic" || name == "reduce_sum" ||
                      (name == "broadcast" && view.integers("axes")[0] == 0) ||
                      ((name == "slice" || name == "concat") && view.integer("axis") != 0);
    if (kept) return Ok{};
    return differ(first_,
                  fmt::format("{} of {} mixes rows of which ranks have different numbers: {}", name,
                              n.scope, first_.type(n.in[0]).text()));
  }

  void note_begins(size_t i) {
    if (first_.nodes[i].op->name != "slice") return;
    std::vector<int64_t> begins;
    for (const Program* own : ranks_)
      begins.push_back(NodeView{*own, own->nodes[i]}.integer("begin"));
    if (std::any_of(begins.begin(), begins.end(), [&](int64_t b) { return b != begins[0]; }))
      made_.begins.emplace(i, std::move(begins));
  }

  std::span<const Program* const> ranks_;
  const Program& first_;
  Replicas made_;
};

}  // namespace

Result<Replicas> compare_replicas(std::span<const Program* const> ranks) {
  return Comparison(ranks).compare();
}

}  // namespace hone::xla
