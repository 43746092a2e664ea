#include "engine/graph/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/graph/builder.h"
#include "engine/graph/errors.h"
#include "engine/graph/fingerprint.h"
#include "engine/graph/op.h"
#include "engine/graph/verify.h"

namespace hone {
namespace {

using testing::HasSubstr;

// pair(x, y?, z?) -> two values of x's type; leaf() -> f32[2]; join(parts..., by) -> by's type.
const OpTable& table() {
  static const OpTable t([] {
    Op pair{.name = "pair",
            .operands = {"x", "y?", "z?"},
            .attrs = {{"a", false},
                      {"b", 0},
                      {"c", 0.0},
                      {"d", ""},
                      {"e", Shape{}},
                      {"f", 0.0},
                      {"g", Shape{}},
                      {"h", 0.0},
                      {"kind", "fast", {"fast", "exact"}}},
            .infer = [](const NodeView& n) -> Result<Types> {
              if (n.in("x").rank() == 0) return Error({"H1203", ""}, "pair: x is a scalar");
              return Types{n.in("x"), n.in("x")};
            }};
    Op leaf{.name = "leaf", .attrs = {{"a", 0}}, .infer = [](const NodeView&) -> Result<Types> {
              return Types{{DType::f32, {2}}};
            }};
    Op join{.name = "join",
            .operands = {"parts...", "by"},
            .attrs = {required("axis", 0)},
            .infer = [](const NodeView& n) -> Result<Types> { return Types{n.in("by")}; }};
    return std::vector<Op>{pair, leaf, join};
  }());
  return t;
}

const char* const kCanonical = R"(program step
input "ids" %0 : i32[8]
state "wte.weight" %1 : f32[4,2] {role="param", trainable=true}
state "odd \"name\"\\" %2 : f64[] {role="cache"}
scope "h.0"
  %3 : f32[4,2], %4 : f32[4,2] = pair(%1) {a=true, b=-3, c=1e-05, d="x // y", e=[1,-2], f=2.0, g=[], h=-inf}
phase backward
scope ""
  %5 : f32[4,2], %6 : f32[4,2] = pair(%3, _, %0) clone
  %7 : f32[2] = leaf()
next %1 = %6
output "loss" = %7
)";

Program parsed(const std::string& text) {
  Result<Program> p = parse_program(text, table());
  if (!p) throw std::runtime_error(p.error().text());
  return std::move(*p);
}

std::string shards(const std::string& second) {
  std::string text = R"(program p
state "m[0:3]" %0 : f32[3,2] {role="moment", shard_of="m", rows=[0,4]}
state "n" %1 : f32[4,2] {role="moment"}
)";
  return text.append(second);
}

TEST(Text, ShardsOfATensorHoldEachRowOnce) {
  const auto refusal = [](const std::string& second) {
    const Status s = verify(parsed(shards(second)));
    return s.ok() ? "" : std::string(s.error().what());
  };
  const std::string rest =
      R"(state "m[3:4]" %2 : f32[1,2] {role="moment", shard_of="m", rows=[3,4]})";
  EXPECT_EQ(refusal(rest), "");
  EXPECT_EQ(print(parsed(shards(rest))), shards(rest + "\n"));
  EXPECT_NE(fingerprint(parsed(shards(rest))), fingerprint(parsed(shards(""))));
  EXPECT_THAT(refusal(""), HasSubstr("rows of 'm' are in no state"));
  const auto other = [&](const std::string& from, const std::string& to) {
    std::string text = rest;
    return refusal(text.replace(text.find(from), from.size(), to));
  };
  EXPECT_THAT(other("[3,4]}", "[2,4]}"), HasSubstr("do not follow"));
  EXPECT_THAT(other("f32[1,2]", "f32[2,2]"), HasSubstr("rows beyond the last"));
  EXPECT_THAT(other("f32[1,2]", "f32[1,3]"), HasSubstr("of another type or role"));
  EXPECT_THAT(other("f32[1,2]", "f64[1,2]"), HasSubstr("of another type or role"));
  EXPECT_THAT(other("[3,4]}", "[3,5]}"), HasSubstr("of another type or role"));
  EXPECT_THAT(other("f32[1,2]", "f32[]"), HasSubstr("a scalar has no rows"));
  EXPECT_THAT(other("shard_of=\"m\"", "shard_of=\"n\""), HasSubstr("do not follow"));
  EXPECT_THAT(refusal(R"(state "m" %2 : f32[1,2] {role="moment"})"),
              HasSubstr("'m' is a state and has shards"));
  EXPECT_FALSE(parse_program(shards(R"(state "x" %2 : f32[1] {shard_of="m"})"), table()).ok());
}

TEST(Text, ARankHoldsSomeRowsOfATensor) {
  const auto of = [](const std::string& rows, const std::string& type = "f32[2,2]") {
    return fmt::format(
        "program p\nstate \"m[2:4]\" %0 : {} {{role=\"moment\", shard_of=\"m\", rows=[{}]}}\n",
        type, rows);
  };
  const auto refusal = [&](const std::string& rows, const std::string& type = "f32[2,2]") {
    const Status s = verify(parsed(of(rows, type)));
    return s.ok() ? "" : std::string(s.error().what());
  };
  EXPECT_EQ(refusal("2,6,2,4"), "");
  EXPECT_EQ(print(parsed(of("2,6,2,4"))), of("2,6,2,4"));
  EXPECT_NE(fingerprint(parsed(of("2,6,2,4"))), fingerprint(parsed(of("2,6"))));
  EXPECT_THAT(refusal("2,6"), HasSubstr("do not follow"));
  EXPECT_THAT(refusal("2,6,1,4"), HasSubstr("do not follow"));
  EXPECT_THAT(refusal("2,6,2,5"), HasSubstr("rows of 'm' are in no state"));
  EXPECT_THAT(refusal("2,6,2,4", "f32[3,2]"), HasSubstr("rows beyond the last"));
  EXPECT_THAT(refusal("2,6,2,7"), HasSubstr("rows beyond the last"));
  EXPECT_FALSE(parse_program(of("2,6,2"), table()).ok());
}

TEST(Text, RoundTrip) {
  Program p = parsed(kCanonical);
  EXPECT_EQ(print(p), kCanonical);
  p.compact();
  EXPECT_EQ(print(p), kCanonical);
  EXPECT_TRUE(verify(p).ok()) << verify(p).error().text();
  EXPECT_EQ(p.nodes[0].attrs.real("c"), 1e-5);
  EXPECT_EQ(p.nodes[0].attrs.text("d"), "x // y");
  EXPECT_EQ(p.nodes[1].in, (Values{3, kNoValue, 0}));
  EXPECT_EQ(p.nodes[1].scope, "");
  EXPECT_EQ(p.nodes[0].phase, Phase::forward);
  EXPECT_EQ(p.nodes[1].phase, Phase::backward);
  EXPECT_TRUE(p.nodes[1].clone);
}

TEST(Text, CommentsSpacesAndNumbersAreFree) {
  Program p = parsed(
      "// head\ninput \"a//b\" %7:f32[2]  // a \"comment\"\n\n %90 :f32[2] = leaf ( )\noutput "
      "\"y\" = %90\n");
  p.compact();
  EXPECT_EQ(
      print(p),
      "program main\ninput \"a//b\" %0 : f32[2]\n  %1 : f32[2] = leaf()\noutput \"y\" = %1\n");
}

TEST(Text, FingerprintSeesAttributes) {
  EXPECT_EQ(fingerprint(parsed("%0 : f32[2] = leaf() {a=1}\n")),
            fingerprint(parsed("%9 : f32[2] = leaf() {a=1}\n")));
  EXPECT_NE(fingerprint(parsed("%0 : f32[2] = leaf() {a=1}\n")),
            fingerprint(parsed("%0 : f32[2] = leaf() {a=2}\n")));
}

TEST(Text, ErrorsSayLineAndColumn) {
  const std::vector<std::array<const char*, 3>> cases{
      {"input \"x\" %0 : f32\n", "a shape", "t.hir:1:19"},
      {"input \"x\" %0 : float[2]\n", "'float' is not an element type", "t.hir:1:21"},
      {"input x %0 : f32[2]\n", "quoted name", "t.hir:1:7"},
      {"input \"x\" %0 f32[2]\n", "':' and a type", "t.hir:1:14"},
      {"input \"x\" %0 : f32[-2]\n", "negative", "t.hir:1:23"},
      {"\n  %0 : f32[2] = lef()\n", "no op is named 'lef'", "t.hir:2:20"},
      {"%0 : f32[2] = leaf\n", "'(' is expected", "t.hir:1:19"},
      {"%0 : f32[2] = pair(%3)\n", "%3 is not defined", "t.hir:1:22"},
      {"%0 : f32[2] = leaf()\n%0 : f32[2] = leaf()\n", "%0 is defined twice", "t.hir:2:21"},
      {"%0 : f32[2] = leaf() {a}\n", "an attribute such as", "t.hir:1:24"},
      {"%0 : f32[2] = leaf() {a=1e999}\n", "an attribute such as", "t.hir:1:30"},
      {"%0 : f32[2] = leaf() {a=99999999999999999999}\n", "an attribute such as", "t.hir:1:45"},
      {"%0 : f32[2] = leaf() {a=1\n", "'}' is expected", "t.hir:1:26"},
      {"%0 : f32[2] = leaf() x\n", "unread text", "t.hir:1:22"},
      {"%0 : f32[2] leaf()\n", "'=' is expected", "t.hir:1:13"},
      {"state \"w\" %0 : f32[2] {role=\"weight\"}\n", "'weight' is not a role", "t.hir:1:38"},
      {"state \"w\" %0 : f32[2] {role=3}\n", "another type", "t.hir:1:31"},
      {"state \"w\" %0 : f32[2] {tie=\"v\"}\n", "a state has no 'tie'", "t.hir:1:32"},
      {"phase sideways\n", "'sideways' is not a phase", "t.hir:1:15"},
      {"%0 : f32[2] = leaf()\nnext %0 = %0\n", "is not a state", "t.hir:2:13"},
      {"output \"y\" = _\n", "a value such as", "t.hir:1:14"},
      {"output \"y\"\n", "output \"name\" = %value", "t.hir:1:11"},
      {"scope h.0\n", "quoted scope", "t.hir:1:7"},
  };
  for (const auto& [text, what, place] : cases) {
    Result<Program> p = parse_program(text, table(), "t.hir");
    ASSERT_FALSE(p.ok()) << text;
    const bool dtype = std::string_view(what).ends_with("element type");
    EXPECT_STREQ(p.error().code(), dtype ? err::kUnknownDType.id : err::kBadProgramText.id) << text;
    EXPECT_THAT(p.error().what(), HasSubstr(what)) << text;
    ASSERT_FALSE(p.error().where().empty()) << text;
    EXPECT_EQ(p.error().where()[0], place) << text;
  }
  EXPECT_THAT(parse_program("%0 : f32[2] = lef()\n", table()).error().remedy(), HasSubstr("leaf"));
}

// Each rule of verify.h, broken once.
class Verify : public testing::Test {
 protected:
  void expect_broken(const std::string& what) {
    Status s = verify(p);
    ASSERT_FALSE(s.ok()) << what;
    EXPECT_THAT(s.error().text(), HasSubstr(what));
  }
  Program p = parsed(kCanonical);
};

TEST_F(Verify, ValueSharedByInputAndState) {
  p.inputs[0].value = p.states[0].value;
  expect_broken("has no value of its own");
}
TEST_F(Verify, InputWithoutValue) {
  p.inputs[0].value = 99;
  expect_broken("'ids' has no value of its own");
}
TEST_F(Verify, NameTwice) {
  p.inputs[0].name = "wte.weight";
  expect_broken("'wte.weight' is used twice");
}
TEST_F(Verify, ForeignOp) {
  static const OpTable other({*table().find("leaf")});
  p.nodes[2].op = other.find("leaf");
  expect_broken("not in the catalogue");
}
TEST_F(Verify, ReadBeforeDefined) {
  std::swap(p.nodes[0], p.nodes[1]);
  expect_broken("reads %3 before it is defined");
}
TEST_F(Verify, InferRefuses) {
  p.nodes[0].in[0] = p.states[1].value;
  expect_broken("pair: x is a scalar");
}
TEST_F(Verify, OperandAbsent) {
  p.nodes[0].in[0] = kNoValue;
  expect_broken("pair: operand 'x' is absent");
}
TEST_F(Verify, OperandsTooMany) {
  p.nodes[1].in = {3, 3, 3, 3};
  expect_broken("4 operands are given to pair(x, y?, z?)");
}
TEST_F(Verify, OperandOfAListAbsent) {
  p.nodes[2].op = table().find("join");
  p.nodes[2].attrs.set("axis", int64_t{0});
  p.nodes[2].in = {3, 3};
  p.values[7].type = p.type(3);
  EXPECT_TRUE(verify(p).ok()) << verify(p).error().text();
  p.nodes[2].in = {3};
  expect_broken("1 operands are given to join(parts..., by)");
  p.nodes[2].in = {3, kNoValue, 3};
  expect_broken("join: operand 1 is absent");
}
TEST_F(Verify, AttributeOfAnotherType) {
  p.nodes[0].attrs.set("b", std::string("x"));
  expect_broken("attribute 'b' must be an integer");
}
TEST_F(Verify, AttributeUnknown) {
  p.nodes[0].attrs.set("kinds", std::string("fast"));
  expect_broken("pair: no attribute is named 'kinds'");
  expect_broken("did you mean 'kind'?");
}
TEST_F(Verify, AttributeOfNoChoice) {
  p.nodes[0].attrs.set("kind", std::string("fine"));
  expect_broken("kind='fine' is not one of fast, exact");
}
TEST_F(Verify, AttributeRequired) {
  p.nodes[2].op = table().find("join");
  p.nodes[2].in = {3, 3};
  expect_broken("join: attribute 'axis' is absent");
}
TEST(Schema, NamesDefaultsAndLists) {
  Program p = parsed(
      "%0 : f32[2] = leaf()\n%1 : f32[2] = join(%0, %0, %0) {axis=0}\n"
      "%2 : f32[2], %3 : f32[2] = pair(%0, _, %1) {c=1}\n");
  const NodeView join{p, p.nodes[1]}, pair{p, p.nodes[2]};
  EXPECT_EQ(join.slot("by"), 2u);
  EXPECT_FALSE(pair.has("y"));
  EXPECT_EQ(pair.input("z"), 1);
  EXPECT_EQ(pair.text("kind"), "fast");
  EXPECT_EQ(pair.real("c"), 1.0);
  EXPECT_THROW((void)pair.slot("w"), Bug);
  EXPECT_THROW((void)pair.flag("b"), Bug);
  EXPECT_THROW((void)pair.flag("size"), Bug);
}
TEST_F(Verify, OutputMissing) {
  p.nodes[0].out.pop_back();
  expect_broken("has 1 outputs, the op defines 2");
}
TEST_F(Verify, DefinedAgain) {
  p.nodes[1].out[0] = 3;
  expect_broken("defines %3 again");
}
TEST_F(Verify, WrongType) {
  p.values[3].type.dtype = DType::f64;
  expect_broken("output 0 is f64[4,2], the op says f32[4,2]");
}
TEST_F(Verify, WrongProducer) {
  p.values[7].node = 0;
  expect_broken("%7 names node 0 as its producer");
}
TEST_F(Verify, NextIsNoNodes) {
  p.states[0].next = p.states[1].value;
  expect_broken("its new version is not made by a node");
}
TEST_F(Verify, NextOfTwoStates) {
  p.states[1].next = 6;
  expect_broken("belongs to another state too");
}
TEST_F(Verify, NextOfAnotherType) {
  p.states[0].next = 7;
  expect_broken("old f32[4,2] and new f32[2] differ");
}
TEST_F(Verify, OldReadAfterNew) {
  p.states[0].next = 3;
  p.nodes[1].in[0] = 1;
  expect_broken("the old version is read by node 1 after node 0");
}
TEST_F(Verify, OutputUndefined) {
  p.outputs[0].value = 99;
  expect_broken("output 'loss' is not defined");
  EXPECT_STREQ(verify(p).error().code(), err::kInvalidProgram.id);
}

TEST(Builder, EmitDropsTrailingAbsentOperandsAndKeepsScope) {
  Program p(table());
  ValueId x = p.add_input("x", {DType::f32, {2}});
  Builder b(p);
  {
    Builder::Scope outer(b, "h.3"), inner(b, "attn");
    b.emit("pair", {x, kNoValue, kNoValue});
  }
  EXPECT_EQ(p.nodes[0].in, Values{x});
  EXPECT_EQ(p.nodes[0].scope, "h.3.attn");
  EXPECT_EQ(b.scope(), "");
  EXPECT_THROW(b.emit("pair", {kNoValue}), BuildError);
  EXPECT_THROW(b.emit("nothing", {}), Bug);
}

}  // namespace
}  // namespace hone
