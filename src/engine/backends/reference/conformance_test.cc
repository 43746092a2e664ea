// The suite itself: a backend with one fault each must fail with words that name it.
#include "engine/device/conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/backends/reference/reference.h"
#include "engine/device/errors.h"
#include "engine/device/host_device.h"
#include "engine/device/lower.h"
#include "engine/graph/text.h"
#include "engine/ops/ops.h"

namespace hone {
namespace {

using testing::HasSubstr;
const char* const kCaseFolder = HONE_SOURCE_DIR "/tests/ops";

// The reference backend with its kernels wrapped by `fault(type of result 0, good kernel, args)`.
class Faulty : public Backend {
 public:
  using Fault = std::function<void(const Type&, const Kernel&, const KernelArgs&)>;
  explicit Faulty(Fault fault, int threads = 1)
      : fault_(std::move(fault)), device_(host_spec("faulty", threads)) {}
  std::string_view name() const override { return "faulty"; }
  Device& device() const override { return device_; }
  Result<Kernel> kernel(const NodeView& n) const override {
    Kernel good = HONE_TRY(reference_backend().kernel(n));
    Fault fault = fault_;
    return Kernel{good.id, 16,
                  [good, fault, type = n.out(0)](const KernelArgs& a) { fault(type, good, a); }};
  }

 private:
  Fault fault_;
  mutable HostDevice device_;
};

std::string failures_of(Faulty::Fault fault, const std::string& op) {
  Faulty backend(std::move(fault));
  return run_conformance(backend, reference_backend(), kCaseFolder, op).text();
}

TEST(Conformance, SeesAWrongValue) {
  auto fault = [](const Type& t, const Kernel& good, const KernelArgs& a) {
    good.run(a);
    static_cast<float*>(a.out[0])[t.count() - 1] *= 1.001f;
  };
  EXPECT_THAT(failures_of(fault, "exp"),
              HasSubstr("FAILED   exp.case:5 exp: y0, 1 thread: element 36 of f32[37] is"));
}

TEST(Conformance, SeesAWriteBehindTheEnd) {
  auto fault = [](const Type& t, const Kernel& good, const KernelArgs& a) {
    good.run(a);
    static_cast<uint8_t*>(a.out[0])[t.bytes()] = 0;
  };
  EXPECT_THAT(failures_of(fault, "tanh"),
              HasSubstr("reference.tanh (tanh) writes outside output 0 f32[37]"));
}

TEST(Conformance, SeesAChangedOperand) {
  auto fault = [](const Type&, const Kernel& good, const KernelArgs& a) {
    good.run(a);
    static_cast<uint8_t*>(const_cast<void*>(a.in[1]))[0] ^= 1;
  };
  EXPECT_THAT(failures_of(fault, "mul"),
              HasSubstr("reference.mul (mul) changes input 1 f32[5,37]"));
}

TEST(Conformance, SeesAnElementThatIsNeverWritten) {
  auto fault = [](const Type& t, const Kernel& good, const KernelArgs& a) {
    std::vector<uint8_t> kept(static_cast<const uint8_t*>(a.out[0]),
                              static_cast<const uint8_t*>(a.out[0]) + 4);
    good.run(a);
    std::copy(kept.begin(), kept.end(), static_cast<uint8_t*>(a.out[0]));
  };
  EXPECT_THAT(failures_of(fault, "sub"), HasSubstr("element 0 of f32[5,37] is -nan"));
}

TEST(Conformance, SeesAKernelThatFailsInPlace) {
  auto fault = [](const Type& t, const Kernel& good, const KernelArgs& a) {
    std::memset(a.out[0], 0, static_cast<size_t>(t.bytes()));  // before the operand is read
    good.run(a);
  };
  EXPECT_THAT(failures_of(fault, "neg"),
              HasSubstr("y0, 1 thread: other bits when written in place"));
  EXPECT_THAT(failures_of(fault, "matmul"),
              HasSubstr("onto an accumulator, 1 thread: other bits when written in place"));
}

TEST(Conformance, SeesAWriteOutsideTheWorkspace) {
  auto fault = [](const Type&, const Kernel& good, const KernelArgs& a) {
    good.run(a);
    static_cast<uint8_t*>(a.workspace)[16] = 1;
  };
  EXPECT_THAT(failures_of(fault, "div"), HasSubstr("writes outside its workspace"));
}

TEST(Conformance, SeesBitsThatDependOnThreads) {
  auto fault = [](const Type&, const Kernel& good, const KernelArgs& a) {
    good.run(a);
    if (pool_of(a).size() == 3) static_cast<uint8_t*>(a.out[0])[0] ^= 1;  // within the tolerance
  };
  std::vector<std::unique_ptr<Backend>> backends;
  for (const int threads : {1, 3}) backends.push_back(std::make_unique<Faulty>(fault, threads));
  EXPECT_THAT(run_conformance(backends, reference_backend(), kCaseFolder, "exp").text(),
              HasSubstr("FAILED   exp.case:5 exp: y0, 3 threads: other bits than with 1"));
}

TEST(Conformance, ListsWhatIsDeclined) {
  class Nothing : public Backend {
    std::string_view name() const override { return "nothing"; }
    Result<Kernel> kernel(const NodeView&) const override {
      return Error(err::kDeclined, "on holiday");
    }
    Device& device() const override { return reference_backend().device(); }
  };
  ConformanceReport r = run_conformance(Nothing(), reference_backend(), kCaseFolder, "gelu");
  EXPECT_EQ(r.checks, 0);
  EXPECT_THAT(r.declined, testing::Contains("gelu.case:3 gelu: on holiday"));
}

TEST(Cases, ErrorsSayFileAndLine) {
  const std::vector<std::array<const char*, 3>> bad{
      {"case {}\n", "before its op", "x.case:1"},
      {"op ad\n", "no op is named 'ad'", "x.case:1"},
      {"op add\ncase {}\n  f31[3] normal\n", "'f31' is not an element type", "x.case:3"},
      {"op add\ncase {}\n  f32[3] gauss\n", "'gauss' is not a way", "x.case:3"},
      {"op add\ncase {}\n  f32[3] list 1 2\n", "2 numbers for f32[3]", "x.case:3"},
      {"op add\ncase {}\n  f32[3] uniform 1\n", "uniform needs 2 numbers", "x.case:3"},
      {"op add\ncase {}\n  f32[3] normal two\n", "'two' is not a number", "x.case:3"},
  };
  for (const auto& [text, what, place] : bad) {
    auto r = parse_cases(text, op_table(), "x.case");
    ASSERT_FALSE(r.ok()) << text;
    EXPECT_THAT(r.error().what(), HasSubstr(what));
    EXPECT_EQ(r.error().where()[0], place);
  }
}

TEST(Lower, DecomposesUntilAcceptedAndKeepsNames) {
  Result<Program> p = parse_program(R"(program t
input "x" %0 : f32[4,2]
state "w" %1 : f32[2,2] {role="param", trainable=true}
scope "h.0"
  %2 : f32[4,2] = linear(%0, %1) {act="relu"}
  %3 : f32[2,2] = relu(%1)
next %1 = %3
output "y" = %2
)",
                                    op_table());
  ASSERT_TRUE(p.ok()) << p.error().text();
  Result<Program> low = lower(*p, reference_backend());
  ASSERT_TRUE(low.ok()) << low.error().text();
  EXPECT_EQ(print(*low), R"(program t
input "x" %0 : f32[4,2]
state "w" %1 : f32[2,2] {role="param", trainable=true}
scope "h.0"
  %2 : f32[4,2] = matmul(%0, %1)
  %3 : f32[] = constant() {dtype="f32", shape=[], value=0.0}
  %4 : f32[4,2] = maximum(%2, %3)
  %5 : f32[] = constant() {dtype="f32", shape=[], value=0.0}
  %6 : f32[2,2] = maximum(%1, %5)
next %1 = %6
output "y" = %4
)");
}

TEST(Lower, RefusesAPrimitiveByName) {
  class NoProducts : public Backend {
    std::string_view name() const override { return "abacus"; }
    Result<Kernel> kernel(const NodeView& n) const override {
      if (n.node.op->name == "matmul") return Error(err::kDeclined, "it only adds");
      return reference_backend().kernel(n);
    }
    Device& device() const override { return reference_backend().device(); }
  };
  Result<Program> p = parse_program(
      "input \"x\" %0 : f32[2,2]\nscope \"h.1\"\n%1 : f32[2,2] = linear(%0, %0)\n", op_table());
  Result<Program> low = lower(*p, NoProducts());
  ASSERT_FALSE(low.ok());
  EXPECT_EQ(
      low.error().text(),
      "H1401  abacus has no kernel for matmul: it only adds\n  at   h.1\n"
      "  do   run on another device or element type; `hone doctor` lists what this machine offers");
}

}  // namespace
}  // namespace hone
