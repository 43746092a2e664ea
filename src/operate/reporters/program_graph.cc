#include "operate/reporters/program_graph.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/core/json.h"
#include "base/core/protobuf.h"
#include "base/core/text.h"
#include "engine/graph/op.h"

namespace hone {
namespace {

namespace pb = protobuf;

constexpr size_t kMostAttrBytes = 200;

// DataType of types.proto, by DType.
int64_t tf_type(DType t) {
  switch (t) {
    case DType::f64:
      return 2;
    case DType::f32:
      return 1;
    case DType::bf16:
      return 14;
    case DType::f16:
      return 19;
    case DType::i64:
      return 9;
    case DType::i32:
      return 3;
    case DType::i8:
      return 6;
    case DType::u8:
      return 4;
    case DType::boolean:
      return 10;
  }
  return 0;
}

// TensorShapeProto: 2 dim {1 size}
std::string tf_shape(const Shape& shape) {
  std::string s;
  for (const int64_t size : shape) s += pb::bytes(2, pb::number(1, size));
  return s;
}

// NodeDef: 1 name, 2 op, 3 input, 5 attr {1 key, 2 value}
// AttrValue: 1 list {7 shape}, 2 s, 6 type, 7 shape
std::string tf_attr(std::string_view name, const std::string& value) {
  return pb::bytes(5, pb::bytes(1, name) + pb::bytes(2, value));
}

std::string attr_text(const Attr& attr) {
  struct {
    std::string operator()(bool x) const { return x ? "true" : "false"; }
    std::string operator()(int64_t x) const { return fmt::format("{}", x); }
    std::string operator()(double x) const { return double_text(x); }
    std::string operator()(const std::string& x) const { return x; }
    std::string operator()(const std::vector<int64_t>& x) const { return text_of(x); }
  } text;
  return utf8_prefix(std::visit(text, attr), kMostAttrBytes);
}

std::string folder_of_role(Role r) {
  switch (r) {
    case Role::param:
      return "weights";
    case Role::grad:
      return "gradients";
    case Role::moment:
      return "moments";
    case Role::copy:
      return "copies";
    default:
      return std::string(name_of(r)) + "s";
  }
}

// A part of a node's name: TensorFlow allows letters, digits and _.-/ in it.
std::string graph_name(std::string_view text) {
  std::string s;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (c == '.' || c == '/') {
      if (!s.empty() && s.back() != '/') s += '/';
    } else {
      s += letter || c == '-' ? c : '_';
    }
  }
  while (s.ends_with('/')) s.pop_back();
  return s;
}

class GraphWriter {
 public:
  void add(const Program& p) {
    std::vector<std::string> refs(p.values.size());  // by value: "node" or "node:1"
    const auto ref = [&](ValueId v) -> std::string& { return refs[static_cast<size_t>(v)]; };
    for (const Named& in : p.inputs)
      ref(in.value) = source("Placeholder", "inputs/" + graph_name(in.name), p.type(in.value));
    for (const State& s : p.states) {
      std::string& now = states_[s.name];
      if (now.empty())
        now = source("VarHandleOp", folder_of_role(s.role) + "/" + graph_name(s.name),
                     p.type(s.value));
      ref(s.value) = now;
    }
    for (const Node& n : p.nodes) {
      const std::string scope = graph_name(n.scope);
      const std::string name = unique(
          fmt::format("{}/{}{}{}", name_of(n.phase), scope, scope.empty() ? "" : "/", n.op->name));
      std::string node = pb::bytes(1, name) + pb::bytes(2, n.op->name), shapes;
      for (const ValueId v : n.in)
        if (v != kNoValue) node += pb::bytes(3, ref(v));
      for (size_t i = 0; i < n.out.size(); ++i) {
        if (n.out[i] == kNoValue) continue;
        ref(n.out[i]) = i == 0 ? name : fmt::format("{}:{}", name, i);
        shapes += pb::bytes(7, tf_shape(p.type(n.out[i]).shape));
      }
      if (!n.out.empty() && n.out[0] != kNoValue)
        node += tf_attr("dtype", pb::number(6, tf_type(p.type(n.out[0]).dtype)));
      node += tf_attr("_output_shapes", pb::bytes(1, shapes));
      for (const auto& [key, value] : n.attrs.all())
        node += tf_attr(key, pb::bytes(2, attr_text(value)));
      text += pb::bytes(1, node);
    }
    for (const State& s : p.states)
      if (s.next != kNoValue) states_[s.name] = ref(s.next);
  }
  std::string text;  // GraphDef: 1 node

 private:
  std::string source(std::string_view op, const std::string& wanted, const Type& type) {
    const std::string name = unique(wanted), shape = tf_shape(type.shape);
    text += pb::bytes(1, pb::bytes(1, name) + pb::bytes(2, op) +
                             tf_attr("dtype", pb::number(6, tf_type(type.dtype))) +
                             tf_attr("shape", pb::bytes(7, shape)) +
                             tf_attr("_output_shapes", pb::bytes(1, pb::bytes(7, shape))));
    return name;
  }
  std::string unique(const std::string& wanted) {
    std::string name = wanted;
    for (int64_t& n = taken_[wanted]; !names_.insert(name).second;)
      name = fmt::format("{}_{}", wanted, ++n);
    return name;
  }

  std::set<std::string> names_;
  std::map<std::string, int64_t> taken_;       // the last number that a name got
  std::map<std::string, std::string> states_;  // who made the newest version
};

int64_t input_elements(const Program& p) {
  int64_t all = 0;
  for (const Named& in : p.inputs) all += p.type(in.value).count();
  return all;
}

}  // namespace

std::string program_graph(std::span<const Program* const> programs) {
  GraphWriter graph;
  for (const Program* p : programs) graph.add(*p);
  return std::move(graph.text);
}

std::vector<const Program*> graphed_programs(std::span<const Program> programs) {
  const auto largest = [&](std::initializer_list<std::string_view> kinds) {
    const Program* found = nullptr;
    for (const Program& p : programs)
      for (const std::string_view kind : kinds)
        if (p.name.starts_with(kind) && (!found || input_elements(p) > input_elements(*found)))
          found = &p;
    return found;
  };
  std::vector<const Program*> all;
  if (const Program* step = largest({"step.", "train."})) all.push_back(step);
  for (const Program& p : programs)
    if (p.name == "update") all.push_back(&p);
  if (all.empty())
    if (const Program* evaluation = largest({"eval."})) all.push_back(evaluation);
  return all;
}

}  // namespace hone
