// Convolutions, batch norms and pools beside the cases of tests/ops: operands that are rounded by channel, the launches
// of a node, and bits that do not depend on the order of threads.
#include <gtest/gtest.h>

#include "engine/backends/cuda/emulator/emulated.h"
#include "engine/backends/cuda/launch_tables.h"
#include "engine/backends/reference/reference.h"
#include "engine/device/interpret.h"
#include "engine/ops/ops.h"

namespace hone {
namespace {

// One node of these operands, whose results are outputs.
Program program_of(const std::string& op, const std::vector<Type>& operands, const Attrs& attrs) {
  Program p(op_table(), op);
  Builder b(p);
  Values in;
  for (size_t i = 0; i < operands.size(); ++i)
    in.push_back(p.add_input(fmt::format("x{}", i), operands[i]));
  const Values out = b.emit(op, in, attrs);
  for (size_t k = 0; k < out.size(); ++k) p.outputs.push_back({fmt::format("y{}", k), out[k]});
  return p;
}

Tensors numbers_for(const Program& p) {
  Tensors given;
  for (const Named& in : p.inputs) {
    const Type& type = p.type(in.value);
    std::vector<double> x;
    for (int64_t i = 0; i < type.count(); ++i)
      x.push_back(static_cast<double>((i * 7919 + in.name.back() * 31) % 613) / 307 - 1);
    given[in.name] = Tensor::of(type, x);
  }
  return given;
}

// Results in f32, of the emulated GPU and of the reference.
void expect_as_reference(const Program& p, const cuda::FakeOptions& options) {
  const auto gpu = make_emulated_cuda_backend(options).value();
  const Tensors given = numbers_for(p);
  const Outcome got = interpret(p, *gpu, given).value(),
                want = interpret(p, reference_backend(), given).value();
  EXPECT_EQ(got.broken, std::vector<std::string>{});
  for (const auto& [name, t] : got.outputs) {
    const auto* x = reinterpret_cast<const float*>(t.bytes.data());
    const auto* y = reinterpret_cast<const float*>(want.outputs.at(name).bytes.data());
    float most = 0;
    for (int64_t i = 0; i < t.type.count(); ++i) most = std::max(most, std::abs(y[i]));
    for (int64_t i = 0; i < t.type.count(); ++i)
      ASSERT_NEAR(x[i], y[i], 1e-5 * most) << p.name << " " << name << " " << i;
  }
}

Type f32(Shape shape) { return {DType::f32, std::move(shape)}; }

// The three products of a convolution of x [B,9,10,C] by w [C K,1,5,7], each channel by itself.
std::vector<Program> convs_by_channel(int64_t channels, const char* rounded, int64_t stride) {
  Attrs attrs{{"groups", channels}, {rounded, true}};
  attrs.set("stride", std::vector<int64_t>{stride, 1});
  attrs.set("padding", std::vector<int64_t>{2, 3, 2, 3});
  const int64_t height = (9 - 1) / stride + 1;
  const Type x = f32({2, 9, 10, channels}), y = f32({2, height, 10, channels}),
             w = f32({channels, 1, 5, 7});
  Attrs of_input = attrs, of_weight = attrs;
  of_input.set("height", int64_t{9});
  of_input.set("width", int64_t{10});
  of_weight.set("kernel", std::vector<int64_t>{5, 7});
  std::vector<Program> all;
  all.push_back(program_of("conv2d", {x, w, f32({channels})}, attrs));
  all.push_back(program_of("conv2d_grad_input", {y, w}, of_input));
  all.push_back(program_of("conv2d_grad_weight", {y, x}, of_weight));
  return all;
}

TEST(EmulatedConvs, ChannelsAreRounded) {
  for (const auto& [channels, rounded, stride] :
       {std::tuple{int64_t{36}, "bf16", int64_t{1}}, std::tuple{int64_t{5}, "f16", int64_t{2}}})
    for (const Program& p : convs_by_channel(channels, rounded, stride)) expect_as_reference(p, {});
}

// Sums of many positions have parts, whose order is that of their numbers.
TEST(EmulatedConvs, TheSameBitsInEveryOrderOfThreads) {
  const Type x = f32({3, 24, 25, 20}), y = f32({3, 24, 25, 17});
  Attrs attrs{{"bf16", true}};
  attrs.set("kernel", std::vector<int64_t>{3, 3});
  attrs.set("padding", std::vector<int64_t>{1, 1, 1, 1});
  const Type rows = f32({900, 40}), column = f32({40});
  std::vector<Program> all;
  all.push_back(program_of("conv2d_grad_weight", {y, x}, attrs));
  all.push_back(program_of("batch_norm", {rows, column, column}, {{"eps", 1e-5}}));
  all.push_back(
      program_of("batch_norm_grad", {rows, column, column, column, rows}, {{"eps", 4.0}}));
  for (const Program& p : all) {
    const Tensors given = numbers_for(p);
    const auto outcome = [&](const cuda::FakeOptions& options) {
      return interpret(p, *make_emulated_cuda_backend(options).value(), given).value();
    };
    const Outcome a = outcome({}), b = outcome({.execution = cuda::Execution::shuffled,
                                                .threads = emulate::Order::shuffled});
    for (const auto& [name, t] : a.outputs) EXPECT_EQ(t.bytes, b.outputs.at(name).bytes) << p.name;
  }
}

std::vector<std::string> launched(const Program& p) {
  const cuda::LaunchTable table =
      cuda::launch_table({.library = true, .library_bytes = 1 << 20, .tensor_cores = true});
  const cuda::Launches all = cuda::launches_of(table, {p, p.nodes[0]}).value();
  std::vector<std::string> names;
  for (const cuda::Launch& l : all.launches) names.push_back(l.library ? "library" : l.kernel);
  return names;
}

TEST(EmulatedConvs, Launches) {
  using Names = std::vector<std::string>;
  const auto bf16 = [](Shape s) { return Type{DType::bf16, std::move(s)}; };
  Attrs rounds{{"bf16", true}};
  rounds.set("as", std::string("bf16"));
  Attrs padded = rounds;
  padded.set("padding", std::vector<int64_t>{1, 1, 1, 1});
  EXPECT_EQ(launched(program_of("conv2d", {bf16({2, 8, 8, 64}), bf16({32, 64, 1, 1})}, rounds)),
            Names{"library"});
  EXPECT_EQ(launched(program_of("conv2d", {bf16({2, 8, 8, 64}), f32({32, 64, 3, 3})}, padded)),
            (Names{"turn_weight_f32_bf16", "conv_bf16_by_bf16"}));
  EXPECT_EQ(launched(program_of("conv2d", {f32({2, 8, 8, 64}), f32({32, 64, 1, 1})}, {})),
            Names{"library"});
  EXPECT_EQ(launched(program_of("conv2d", {f32({2, 8, 8, 3}), f32({32, 3, 8, 8})}, {})),
            (Names{"turn_weight_f32_f32", "conv_f32"}));
  for (const Program& p : convs_by_channel(36, "bf16", 1)) EXPECT_EQ(launched(p).size(), 2u);
  const Type rows = bf16({90, 40}), column = f32({40});
  EXPECT_EQ(launched(program_of("batch_norm", {rows, column, column}, {{"eps", 1e-5}})),
            (Names{"moment_parts_bf16", "join_moments", "batch_norm_bf16_bf16"}));
  EXPECT_EQ(launched(program_of("batch_norm_grad", {rows, column, column, column, f32({90, 40})},
                                {{"eps", 1e-5}})),
            (Names{"batch_norm_parts_bf16_f32", "add_column_parts", "batch_norm_grad_bf16_f32"}));
}

}  // namespace
}  // namespace hone
