#include "operate/reporters/program_graph.h"

#include <gmock/gmock.h>

#include <set>

#include "engine/graph/op.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A reader of the wire format: fields of lengths as (number, bytes), varints as (number, decimal).
std::vector<std::pair<int, std::string>> fields_of(std::string_view message) {
  const auto varint = [&] {
    uint64_t x = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<uint8_t>(message.at(0));
      message.remove_prefix(1);
      x |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return x;
    }
  };
  std::vector<std::pair<int, std::string>> fields;
  while (!message.empty()) {
    const uint64_t key = varint(), value = varint();
    const int number = static_cast<int>(key >> 3);
    if ((key & 7) == 0) {
      fields.emplace_back(number, std::to_string(value));
    } else {
      EXPECT_EQ(key & 7, 2u);
      fields.emplace_back(number, message.substr(0, value));
      message.remove_prefix(value);
    }
  }
  return fields;
}

struct GraphNode {
  std::string op;
  std::vector<std::string> inputs;
  std::map<std::string, std::string> attrs;
};

std::map<std::string, GraphNode> nodes_of(const std::string& graph) {
  std::map<std::string, GraphNode> nodes;
  for (const auto& [field, text] : fields_of(graph)) {
    EXPECT_EQ(field, 1);
    std::string name;
    GraphNode node;
    for (const auto& [part, value] : fields_of(text)) {
      if (part == 1) name = value;
      if (part == 2) node.op = value;
      if (part == 3) node.inputs.push_back(value);
      if (part == 5) {
        const auto entry = fields_of(value);
        node.attrs[entry.at(0).second] = entry.at(1).second;
      }
    }
    EXPECT_TRUE(nodes.emplace(name, node).second) << name << " is taken twice";
  }
  return nodes;
}

const OpTable& graph_ops() {
  static const OpTable ops({Op{.name = "add"}, Op{.name = "neg"}, Op{.name = "split"}});
  return ops;
}

// Adds a node with results of a type; gives the first result.
ValueId add_node(Program& p, const char* op, std::vector<ValueId> in, size_t results = 1) {
  Node& n = p.nodes.emplace_back();
  n.op = graph_ops().find(op);
  n.in = std::move(in);
  for (size_t i = 0; i < results; ++i)
    n.out.push_back(p.new_value({DType::f32, {2, 8}}, static_cast<int32_t>(p.nodes.size() - 1)));
  return n.out[0];
}

TEST(ProgramGraph, NodesHaveTheirScopesAndInputs) {
  const Type type{DType::bf16, {4, 8}};
  Program step(graph_ops(), "step.4"), update(graph_ops(), "update");
  const ValueId x = step.add_input("x", type);
  const ValueId w = step.add_state({.name = "h.0.w"}, type);
  const ValueId sum = add_node(step, "add", {w, x});
  add_node(step, "add", {sum, kNoValue, x});
  step.nodes[0].scope = step.nodes[1].scope = "h.3.attn";
  const ValueId parts = add_node(step, "split", {sum}, 2);
  step.nodes.back().phase = Phase::backward;
  step.nodes.back().attrs = {{"axis", int64_t{0}}, {"sizes", std::vector<int64_t>{2, 2}}};
  step.states[0].next = add_node(step, "neg", {parts + 1});
  step.nodes.back().phase = Phase::update;

  const ValueId again = update.add_state({.name = "h.0.w"}, type);
  const ValueId m = update.add_state({.name = "h.0.w m", .role = Role::moment}, type);
  add_node(update, "add", {again, m});

  const Program* programs[] = {&step, &update};
  const auto nodes = nodes_of(program_graph(programs));
  std::set<std::string> names;
  for (const auto& [name, node] : nodes) names.insert(name);
  EXPECT_THAT(names, ElementsAre("backward/split", "forward/add", "forward/h/3/attn/add",
                                 "forward/h/3/attn/add_1", "inputs/x", "moments/h/0/w_m",
                                 "update/neg", "weights/h/0/w"));
  const auto inputs = [&](const std::string& name) { return nodes.at(name).inputs; };
  EXPECT_THAT(inputs("forward/h/3/attn/add"), ElementsAre("weights/h/0/w", "inputs/x"));
  EXPECT_THAT(inputs("forward/h/3/attn/add_1"), ElementsAre("forward/h/3/attn/add", "inputs/x"));
  EXPECT_THAT(inputs("update/neg"), ElementsAre("backward/split:1"));
  EXPECT_THAT(inputs("weights/h/0/w"), IsEmpty());
  EXPECT_THAT(inputs("forward/add"), ElementsAre("update/neg", "moments/h/0/w_m"))
      << "the second program reads what the first one wrote";
  EXPECT_EQ(nodes.at("inputs/x").op, "Placeholder");
  EXPECT_EQ(nodes.at("inputs/x").attrs.at("dtype"), "\x30\x0e");
  EXPECT_EQ(nodes.at("weights/h/0/w").op, "VarHandleOp");
  const GraphNode& split = nodes.at("backward/split");
  EXPECT_EQ(split.op, "split");
  EXPECT_EQ(split.attrs.at("axis"),
            "\x12\x01"
            "0");
  EXPECT_EQ(split.attrs.at("sizes"),
            "\x12\x05"
            "[2,2]");
  EXPECT_EQ(split.attrs.at("dtype"), "\x30\x01");
  // list {shape {dim {size 2} dim {size 8}} shape {...}}
  const std::string shape = "\x3a\x08\x12\x02\x08\x02\x12\x02\x08\x08";
  EXPECT_EQ(split.attrs.at("_output_shapes"), "\x0a\x14" + shape + shape);
}

TEST(ProgramGraph, NamesThatReadLikeNumberedOnesAreNotTakenTwice) {
  Program p(graph_ops(), "step.1");
  const ValueId x = p.add_input("x", {DType::f32, {2, 8}});
  for (const char* scope : {"a", "a", "a/add_1", "a..add:1", "a"}) {
    add_node(p, "add", {x, x});
    p.nodes.back().scope = scope;
  }
  const Program* programs[] = {&p};
  EXPECT_EQ(nodes_of(program_graph(programs)).size(), 6u);  // and nodes_of() looks at the names
}

TEST(ProgramGraph, TheLargestStepIsShown) {
  std::vector<Program> programs;
  for (const char* name : {"step.8", "step.16", "eval.32"}) {
    Program p(graph_ops(), name);
    p.add_input("ids", {DType::i32, {std::stoll(std::string(name).substr(5))}});
    programs.push_back(std::move(p));
  }
  EXPECT_THAT(graphed_programs(programs), ElementsAre(&programs[1]));
  programs.emplace_back(graph_ops(), "update");
  EXPECT_THAT(graphed_programs(programs), ElementsAre(&programs[1], &programs[3]));
  const std::span<const Program> evaluation(&programs[2], 1);
  EXPECT_THAT(graphed_programs(evaluation), ElementsAre(&programs[2]));
  EXPECT_THAT(graphed_programs({}), IsEmpty());
}

}  // namespace
}  // namespace hone
