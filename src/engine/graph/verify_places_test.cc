// Spaces, lanes, copies and waits: their text, and each rule broken once.
#include "engine/graph/verify_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/graph/builder.h"
#include "engine/graph/fingerprint.h"
#include "engine/graph/op.h"
#include "engine/graph/text.h"
#include "engine/graph/verify.h"

namespace hone {
namespace {

using testing::HasSubstr;

// neg(x), copy(x) {to}, wait(x), sum(onto, x), which is written over `onto`, and share(x), a
// collective.
const OpTable& places_table() {
  static const OpTable t([] {
    const auto same = [](const NodeView& n) -> Result<Types> { return Types{n.in(0)}; };
    Op neg{.name = "neg", .operands = {"x"}, .infer = same};
    Op copy{.name = "copy",
            .operands = {"x"},
            .attrs = {required("to", "", {"device", "host", "disk"})},
            .infer = same,
            .copies = true};
    Op wait{.name = "wait",
            .operands = {"x"},
            .infer = same,
            .view_offset = [](const NodeView&) -> int64_t { return 0; },
            .waits = true};
    Op sum{.name = "sum",
           .operands = {"onto", "x"},
           .infer = same,
           .over = {{.result = 0, .operand = "onto"}}};
    Op share{.name = "share",
             .operands = {"x"},
             .infer = same,
             .over = {{.result = 0, .operand = "x"}},
             .traffic = [](const NodeView& n) { return n.in(0).bytes(); }};
    return std::vector<Op>{neg, copy, wait, sum, share};
  }());
  return t;
}

const char* const kStreamed = R"(program step
state "m" %0 : f32[4] {role="moment", home="disk"}
state "w" %1 : f32[4] {role="param"}
  %2 : f32[4] = copy(%0) {to="device"} lane disk_read
  %3 : f32[4] = neg(%1)
  %4 : f32[4] = wait(%2)
  %5 : f32[4] = neg(%4)
  %6 : f32[4] = copy(%5) {to="disk"} lane disk_write
  %7 : f32[4] = wait(%6)
next %0 = %7
next %1 = %3
output "y" = %5
)";

Program parsed_places(const std::string& text) {
  Result<Program> p = parse_program(text, places_table());
  if (!p) throw std::runtime_error(p.error().text());
  return std::move(*p);
}

// A kernel of the host changes a state where it is; its operand is brought, and it has a result of
// its own.
const char* const kOnHost = R"(program update
input "g" %0 : f32[4]
state "m" %1 : f32[4] {role="moment", home="host"}
  %2 : f32[4] = copy(%0) {to="host"} lane store
  %3 : f32[4] = wait(%2)
  %4 : f32[4] = sum(%1, %3) lane host_compute
  %5 : f32[4] = neg(%3) lane host_compute
  %6 : f32[4] = neg(%0)
  %7 : f32[4] = wait(%4)
  %8 : f32[4] = wait(%5)
next %1 = %7
output "y" = %6
)";

class Places : public testing::Test {
 protected:
  void expect_broken(const std::string& what) {
    Status s = verify(p);
    ASSERT_FALSE(s.ok()) << what;
    EXPECT_THAT(s.error().text(), HasSubstr(what));
  }
  Program p = parsed_places(kStreamed);
};

TEST_F(Places, RoundTrip) {
  EXPECT_EQ(print(p), kStreamed);
  p.compact();
  EXPECT_EQ(print(p), kStreamed);
  EXPECT_TRUE(verify(p).ok()) << verify(p).error().text();
  EXPECT_EQ(p.space(0), Space::disk);
  EXPECT_EQ(p.space(4), Space::device);
  EXPECT_EQ(p.space(7), Space::disk);
}

TEST_F(Places, TheBuilderFindsLaneAndSpace) {
  Program made(places_table());
  State m;
  m.home = Space::host;
  m.name = "m";
  const ValueId v = made.add_state(std::move(m), {DType::f32, {4}});
  Builder b(made);
  const ValueId y = b.emit1("wait", {b.emit1("copy", {v}, {{"to", "device"}})});
  EXPECT_EQ(made.nodes[0].lane, Lane::load);
  EXPECT_EQ(made.nodes[1].lane, Lane::compute);
  EXPECT_EQ(made.space(y), Space::device);
  EXPECT_TRUE(verify(made).ok()) << verify(made).error().text();
}

TEST_F(Places, FingerprintsSeeMovesAndNumbersDoNot) {
  const Program plain = parsed_places(R"(program step
state "m" %0 : f32[4] {role="moment"}
state "w" %1 : f32[4] {role="param"}
  %3 : f32[4] = neg(%1)
  %5 : f32[4] = neg(%0)
next %0 = %5
next %1 = %3
output "y" = %5
)");
  EXPECT_EQ(numeric_fingerprint(plain), numeric_fingerprint(p));
  const uint64_t before = fingerprint(p);
  p.nodes[0].lane = Lane::load;
  EXPECT_NE(fingerprint(p), before);
  p.nodes[0].lane = Lane::disk_read;
  p.states[0].home = Space::host;
  EXPECT_NE(fingerprint(p), before);
}

TEST_F(Places, CollectivesAreOnTheirLane) {
  const std::string text = R"(program step
input "x" %0 : f32[4]
state "w" %1 : f32[4] {role="param"}
  %2 : f32[4] = share(%0) lane comm
  %3 : f32[4] = neg(%1)
  %4 : f32[4] = wait(%2)
  %5 : f32[4] = share(%1) lane comm
  %6 : f32[4] = wait(%5)
next %1 = %6
output "y" = %4
)";
  p = parsed_places(text);
  EXPECT_EQ(print(p), text);
  EXPECT_TRUE(verify(p).ok()) << verify(p).error().text();
  p.nodes[0].lane = Lane::compute;
  expect_broken("is on lane 'compute', not 'comm'");
  p = parsed_places(text);
  p.nodes[2].in[0] = 3;
  expect_broken("waits for %3, which no other lane makes");
  p = parsed_places(text);
  p.nodes[1].in[0] = 2;
  expect_broken("reads %2, not a wait for it");
  p = parsed_places(text);
  EXPECT_TRUE(waits_for_ranks(p, p.nodes[2]));
  p.nodes.push_back(p.nodes[1]);  // reads w after the collective wrote over it
  p.nodes.back().out = {p.new_value(p.type(3))};
  p.renumber_producers();
  expect_broken("the old version is read by node 5 after node 3 wrote the new one");
}

TEST_F(Places, TheBuilderPutsCollectivesOnTheirLane) {
  Program made(places_table());
  const ValueId x = made.add_input("x", {DType::f32, {4}});
  Builder b(made);
  made.outputs.push_back({"y", b.emit1("wait", {b.emit1("share", {x})})});
  EXPECT_EQ(made.nodes[0].lane, Lane::comm);
  EXPECT_TRUE(verify(made).ok()) << verify(made).error().text();
}

TEST_F(Places, TextErrors) {
  const auto error = [](const std::string& text) {
    const Result<Program> r = parse_program(text, places_table());
    return r.ok() ? "read" : r.error().what();
  };
  const std::string x = "input \"x\" %0 : f32[2]\n";
  EXPECT_THAT(error("state \"m\" %0 : f32[2] {home=\"moon\"}\n"), HasSubstr("is not a space"));
  EXPECT_THAT(error(x + "%1 : f32[2] = neg(%0) lane fast\n"), HasSubstr("is not a lane"));
  EXPECT_THAT(error(x + "%1 : f32[2] = copy(%0) {to=\"moon\"}\n"), HasSubstr("is not one of"));
  EXPECT_THAT(error(x + "%1 : f32[2] = copy(%0)\n"), HasSubstr("'to' is absent"));
  EXPECT_THAT(error(x + "%1 : f32[2] = wait()\n"), HasSubstr("operand"));
}

TEST_F(Places, AKernelReadsTheDevice) {
  p.nodes[1].in[0] = 0;
  expect_broken("reads %0 on disk");
}
TEST_F(Places, AKernelIsOnCompute) {
  p.nodes[1].lane = Lane::load;
  expect_broken("is on lane 'load', not 'compute'");
}
TEST_F(Places, ACopyIsOnTheLaneOfItsSpaces) {
  p.nodes[0].lane = Lane::load;
  expect_broken("is on lane 'load', not 'disk_read'");
}
TEST_F(Places, ACopyChangesTheSpace) {
  p.nodes[0].attrs.set("to", std::string("disk"));
  p.values[2].space = p.values[4].space = Space::disk;
  p.nodes[0].lane = Lane::disk_read;
  expect_broken("copies from the space 'disk' to itself");
}
TEST_F(Places, AResultIsWhereItsNodeSays) {
  p.values[2].space = Space::host;
  expect_broken("%2 is not in the space 'device'");
}
TEST_F(Places, OnlyAWaitReadsACopy) {
  p.nodes[3].in[0] = 2;
  expect_broken("reads %2, not a wait for it");
}
TEST_F(Places, AWaitIsForACopy) {
  p.nodes[2].in[0] = 3;
  expect_broken("waits for %3, which no other lane makes");
}
TEST_F(Places, ACopyIsWaitedForOnce) {
  p.nodes[3].op = places_table().find("wait");
  p.nodes[3].in[0] = 2;
  expect_broken("waits for %2 again");
}
TEST_F(Places, EveryCopyIsWaitedFor) {
  p.nodes[2].op = places_table().find("neg");
  p.nodes[2].in[0] = 1;
  expect_broken("nothing waits for it");
}
TEST_F(Places, AnOutputIsOnTheDeviceAndDone) {
  p.outputs[0].value = 7;
  expect_broken("output 'y': it is not on the device");
  p.outputs[0].value = 2;
  expect_broken("output 'y': it is not on the device");
}
TEST_F(Places, AnInputIsOnTheDevice) {
  p.inputs.push_back({"x", p.new_value({DType::f32, {4}})});
  p.values.back().space = Space::host;
  expect_broken("input 'x': it is not on the device");
}
TEST_F(Places, AStateIsInItsHome) {
  p.states[0].home = Space::host;
  expect_broken("state 'm': it is not in its home");
}
TEST_F(Places, ANewVersionIsInTheHome) {
  p.states[0].next = 5;
  expect_broken("state 'm': its new version is elsewhere");
}
TEST_F(Places, ANewVersionIsDone) {
  p.states[0].next = 6;
  expect_broken("its new version is the result of a node that nothing waits for");
}
TEST_F(Places, AnOldVersionIsReadUntilItsWaitAndReplacedFromTheCopyOn) {
  const char* const text = R"(program step
state "m" %0 : f32[4] {role="moment", home="disk"}
state "w" %1 : f32[4] {role="param"}
  %2 : f32[4] = copy(%0) {to="device"} lane disk_read
  %3 : f32[4] = neg(%1)
  %4 : f32[4] = copy(%3) {to="disk"} lane disk_write
  %5 : f32[4] = wait(%2)
  %6 : f32[4] = wait(%4)
next %0 = %6
)";
  p = parsed_places(text);
  expect_broken("state 'm': the old version is read by node 3 after node 2 wrote the new one");
}

TEST_F(Places, KernelsOfTheHostRoundTrip) {
  p = parsed_places(kOnHost);
  EXPECT_EQ(print(p), kOnHost);
  EXPECT_TRUE(verify(p).ok()) << verify(p).error().text();
  EXPECT_EQ(p.space(4), Space::host) << "where the operand is that it is written over";
  EXPECT_EQ(p.space(5), Space::host) << "a result of its own";
  const Program plain = parsed_places(R"(program update
input "g" %0 : f32[4]
state "m" %1 : f32[4] {role="moment"}
  %2 : f32[4] = sum(%1, %0)
  %3 : f32[4] = neg(%0)
next %1 = %2
output "y" = %3
)");
  EXPECT_EQ(numeric_fingerprint(plain), numeric_fingerprint(p));
}
TEST_F(Places, AKernelOfTheHostIsWrittenOverWhereItsOperandIs) {
  p = parsed_places(kOnHost);
  p.values[4].space = Space::device;
  expect_broken("%4 is not in the space 'host'");
}
TEST_F(Places, AResultOfTheHostIsWaitedFor) {
  p = parsed_places(kOnHost);
  p.nodes[3].in[0] = 4;
  expect_broken("reads %4, not a wait for it");
}
TEST_F(Places, AKernelOfTheHostIsWaitedFor) {
  p = parsed_places(kOnHost);
  p.nodes.pop_back();
  expect_broken("nothing waits for it");
}
TEST_F(Places, AKernelOfTheHostReadsNoDisk) {
  p = parsed_places(kOnHost);
  p.states[0].home = p.values[1].space = p.values[4].space = p.values[7].space = Space::disk;
  expect_broken("reads %1 on disk");
}
TEST_F(Places, NoOtherKernelReadsTheHost) {
  p = parsed_places(kOnHost);
  p.nodes[4].in[0] = 3;
  expect_broken("reads %3 on host");
}
TEST_F(Places, AViewIsOnCompute) {
  p = parsed_places(kOnHost);
  p.nodes[1].lane = Lane::host_compute;
  expect_broken("is on lane 'host_compute', not 'compute'");
}
TEST_F(Places, NothingReadsWhatAKernelOfTheHostIsWrittenOver) {
  const char* const text = R"(program update
state "m" %0 : f32[4] {role="moment", home="host"}
  %1 : f32[4] = neg(%0) lane host_compute
  %2 : f32[4] = wait(%1)
  %3 : f32[4] = sum(%0, %2) lane host_compute
  %4 : f32[4] = copy(%0) {to="device"} lane load
  %5 : f32[4] = wait(%3)
  %6 : f32[4] = wait(%4)
next %0 = %5
)";
  p = parsed_places(text);
  expect_broken("state 'm': the old version is read by node 5 after node 2 wrote the new one");
}
TEST_F(Places, WhatTheHostReadsIsNotReplacedBeforeItsWait) {
  const char* const text = R"(program update
state "w" %0 : f32[4] {role="param"}
  %1 : f32[4] = neg(%0) lane host_compute
  %2 : f32[4] = neg(%0)
  %3 : f32[4] = wait(%1)
next %0 = %2
)";
  p = parsed_places(text);
  expect_broken("state 'w': the old version is read by node 2 after node 1 wrote the new one");
}

}  // namespace
}  // namespace hone
