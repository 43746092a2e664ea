// The backend on the CPU plug-in: every op, states between programs, and no compile in a run.
#include "engine/backends/xla/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/core/philox.h"
#include "base/core/text.h"
#include "base/core/whole_test.h"
#include "engine/backends/null/null.h"
#include "engine/backends/reference/reference.h"
#include "engine/backends/xla/ahead.h"
#include "engine/backends/xla/errors.h"
#include "engine/backends/xla/stablehlo.h"
#include "engine/backends/xla/write_ops.h"
#include "engine/backends/xla/xla_test.h"
#include "engine/device/conformance.h"
#include "engine/device/errors.h"
#include "engine/device/interpret.h"
#include "engine/device/lower.h"
#include "engine/graph/text.h"
#include "engine/ops/ops.h"
#include "engine/plan/plan.h"

namespace hone {
namespace {

using testing::HasSubstr;

Program program_of(const std::string& text) {
  return std::move(parse_program(text, op_table()).value());
}

// Opens the backend with another plug-in.
Result<std::unique_ptr<Backend>> open_with(const char* plugin) {
  const std::string before = environment("HONE_PJRT");
  setenv("HONE_PJRT", plugin, 1);
  auto backend = xla::open_backend({.name = "xla_cpu"});
  before.empty() ? unsetenv("HONE_PJRT") : setenv("HONE_PJRT", before.c_str(), 1);
  return backend;
}

TEST(Xla, WithoutAPluginTheErrorSaysWhatToInstall) {
  const auto backend = open_with("/nowhere/plugin.so");
  ASSERT_FALSE(backend.ok());
  EXPECT_STREQ(backend.error().code(), err::kNoPlugin.id);
  EXPECT_THAT(backend.error().text(), HasSubstr("/nowhere/plugin.so"));
  EXPECT_THAT(backend.error().remedy(), HasSubstr("pip install xla-cpu-pjrt"));
}

TEST(Xla, AMachineWithoutTpusLoadsNoLibtpu) {
  if (const auto tpu = xla::open_backend({.name = "tpu", .platform = xla::Platform::tpu});
      !tpu.ok()) {
    EXPECT_STREQ(tpu.error().code(), err::kNoTpu.id);
    EXPECT_THAT(tpu.error().remedy(), HasSubstr("xla_cpu"));
  }
}

TEST(Xla, ALibraryThatIsNoPluginIsRefused) {
  const auto backend = open_with("libm.so.6");
  ASSERT_FALSE(backend.ok());
  EXPECT_THAT(backend.error().what(), HasSubstr("libm.so.6 is not a PJRT plug-in"));
}

TEST(Xla, ADeviceThatIsNotThereIsRefused) {
  HONE_XLA_OR_SKIP(backend);
  EXPECT_THAT(backend->description(), HasSubstr("PJRT 0."));
  EXPECT_FALSE(backend->device().host_memory());
  const auto other = xla::open_backend({.name = "xla_cpu", .ordinal = 4711});
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().what(), HasSubstr("there is no device 4711: the platform cpu has"));
}

// The ops of a sample, or all of the catalogue in make nightly.
TEST(Xla, Conformance) {
  HONE_XLA_OR_SKIP(backend);
  std::vector<std::string> names{"matmul",         "cast",       "dropout_mask",    "concat",
                                 "compare",        "rope",       "top_k",           "dequantize",
                                 "conv2d",         "max_pool2d", "max_pool2d_grad", "avg_pool2d",
                                 "avg_pool2d_grad"};
  if (tests_whole()) names = {""};
  if (const std::string only = environment("HONE_ONLY"); !only.empty()) names = {only};
  int checks = 0;
  for (const std::string& name : names) {
    const ConformanceReport r =
        run_conformance(*backend, reference_backend(), HONE_SOURCE_DIR "/tests/ops", name);
    EXPECT_TRUE(r.failures.empty()) << r.text();
    checks += r.checks;
  }
  EXPECT_GT(checks, 0);
}

TEST(Xla, AWrongTextIsTheCompilersError) {
  const auto file = xla::find_plugin(xla::Platform::cpu);
  if (!file.ok()) GTEST_SKIP() << file.error().text();
  const auto client = xla::Client::open(xla::Plugin::load(*file).value());
  ASSERT_TRUE(client.ok()) << client.error().text();
  const auto wrong = (*client)->compile("module { this is no program }");
  ASSERT_FALSE(wrong.ok());
  EXPECT_STREQ(wrong.error().code(), err::kXlaFails.id);
  EXPECT_THAT(wrong.error().what(), HasSubstr("compiling a program failed: "));
  EXPECT_EQ((*client)->compiles(), 0);
}

// The compiler of each generation of TPUs takes the text of a step.
TEST(Xla, LibtpuCompilesForTpusThatAreNotHere) {
  if (const auto file = xla::find_libtpu(); !file.ok()) GTEST_SKIP() << file.error().text();
  Program p = program_of(R"(program step
input "ids" %0 : i32[64]
input "labels" %1 : i32[64]
input "cu" %2 : i32[3]
input "rng" %3 : i64[2]
input "samples" %4 : i64[64]
input "positions" %5 : i32[64]
input "scale" %6 : f32[]
input "lr" %7 : f64[]
input "step" %8 : i64[]
input "g_scale" %9 : f64[]
state "w" %10 : f32[128,96] {role="param", trainable=true}
state "m" %11 : f32[128,96] {role="moment"}
state "v" %12 : f32[128,96] {role="moment"}
  %13 : f32[64,96] = embedding(%10, %0)
  %14 : f32[64,32], %15 : f32[2,64] = attention(%13, _, _, %2, %2) {heads=2, kv_heads=2, causal=true, scale=0.25}
  %16 : f32[64,32] = gelu(%14)
  %17 : f32[64,32] = dropout(%16, %3, %4, %5) {p=0.1, key="h.0"}
  %18 : f32[64,96] = concat(%17, %17, %17) {axis=1}
  %19 : f32[], %20 : f32[64], %21 : i32[64], %22 : f32[128,96] = linear_cross_entropy(%18, %10, %1, %6) {dw=true}
  %23 : f32[128,96], %24 : f32[128,96], %25 : f32[128,96] = adamw(%10, %22, %11, %12, %7, %8, %9) {count=1, beta1=0.9, beta2=0.999, eps=1e-08, weight_decay=0.01}
next %10 = %23
next %11 = %24
next %12 = %25
output "loss" = %19
)");
  const NullBackend any(
      [](const NodeView& n) -> Result<Choice> {
        if (xla::writer_of(*n.node.op) == nullptr) return Error(err::kDeclined, "");
        return Choice{"xla"};
      },
      {});
  const std::string text = xla::write_module(lower(std::move(p), any).value()).text;
  for (const char* topology : {"v2:1x1", "v5e:1x1"}) {
    const auto compiler = xla::AheadCompiler::open(topology);
    ASSERT_TRUE(compiler.ok()) << compiler.error().text();
    const auto memory = (*compiler)->compile(text);
    ASSERT_TRUE(memory.ok()) << topology << ": " << memory.error().text();
    EXPECT_GE(memory->alias_bytes, 3 * 128 * 96 * 4) << "the states are donated";
  }
  EXPECT_FALSE(xla::AheadCompiler::open("v99:1x1").ok());
}

// Programs with an arena and no session.
struct Running {
  Running(const Backend& backend, std::vector<Program> given) : programs(std::move(given)) {
    std::vector<PlanInput> inputs;
    for (Program& p : programs) {
      p = std::move(lower(std::move(p), backend).value());
      inputs.push_back({&p, std::vector<int64_t>(p.nodes.size(), 0)});
    }
    plan = plan_run(inputs).value();
    executable = std::move(backend.compile(programs, plan).value());
    arena = std::move(backend.device().allocate(Space::device, plan.arena_bytes()).value());
    PerSpace<std::byte*> arenas;
    arenas[Space::device] = arena->data();
    executable->bind(arenas, std::vector<Ports>(programs.size()));
  }
  std::byte* at(const std::string& state) const {
    for (const StateSlot& s : plan.states)
      if (s.name == state) return arena->data() + s.offset;
    HONE_BUG_IF(true, "no state {}", state);
  }
  std::vector<Program> programs;
  RunPlan plan;
  std::unique_ptr<Memory> arena;
  std::unique_ptr<Executable> executable;
};

std::vector<float> numbers_of(Queue& queue, const std::byte* at, size_t count) {
  std::vector<float> x(count);
  queue.copy(x.data(), at, static_cast<int64_t>(count * sizeof(float)));
  return x;
}

TEST(Xla, StatesAreReadAndWrittenByRange) {
  HONE_XLA_OR_SKIP(backend);
  std::vector<Program> programs{program_of(R"(program twice
state "w" %0 : f32[4] {role="param", trainable=true}
  %1 : f32[] = constant() {dtype="f32", shape=[], value=2.0}
  %2 : f32[4] = mul(%0, %1)
next %0 = %2
)")};
  const Running r(*backend, std::move(programs));
  Queue& queue = backend->device().queue(Lane::compute);
  const std::vector<float> start{1, 2, 3, 4}, middle{-1, -2};
  queue.copy(r.at("w"), start.data(), 16);
  const int64_t compiled = xla::compiles_of(*backend);
  r.executable->run(0, nullptr);
  EXPECT_EQ(numbers_of(queue, r.at("w"), 4), (std::vector<float>{2, 4, 6, 8}));
  r.executable->run(0, nullptr);
  queue.copy(r.at("w") + 4, middle.data(), 8);
  EXPECT_EQ(numbers_of(queue, r.at("w") + 8, 2), (std::vector<float>{-2, 16}));
  r.executable->run(0, nullptr);
  EXPECT_EQ(numbers_of(queue, r.at("w"), 4), (std::vector<float>{8, -2, -4, 32}));
  queue.zero(r.at("w") + 12, 4);
  EXPECT_EQ(numbers_of(queue, r.at("w"), 4), (std::vector<float>{8, -2, -4, 0}));
  EXPECT_TRUE(backend->device().check().ok());
  EXPECT_EQ(xla::compiles_of(*backend), compiled) << "a run compiles nothing";
}

// Layers' weights are one array on the device; each has its own place in the arena.
TEST(Xla, RowsOfAnArrayAreReadAndWrittenByRange) {
  HONE_XLA_OR_SKIP(backend);
  std::vector<Program> programs{program_of(R"(program two_of_three
state "h.0.w" %0 : f32[3] {role="param", trainable=true}
state "h.2.w" %1 : f32[3] {role="param", trainable=true}
  %2 : f32[3] = add(%1, %0)
next %1 = %2
)"),
                                program_of(R"(program all
state "h.0.w" %0 : f32[3] {role="param", trainable=true}
state "h.1.w" %1 : f32[3] {role="param", trainable=true}
state "h.2.w" %2 : f32[3] {role="param", trainable=true}
  %3 : f32[3] = neg(%0)
  %4 : f32[3] = add(%1, %2)
next %0 = %3
next %1 = %4
)")};
  const Running r(*backend, std::move(programs));
  Queue& queue = backend->device().queue(Lane::compute);
  const auto set = [&](const std::string& name, std::vector<float> x) {
    queue.copy(r.at(name), x.data(), 12);
  };
  const auto expect = [&](const std::string& name, const std::vector<float>& x) {
    EXPECT_EQ(numbers_of(queue, r.at(name), 3), x) << name;
  };
  set("h.0.w", {1, 2, 3});
  set("h.1.w", {10, 20, 30});
  set("h.2.w", {100, 200, 300});
  r.executable->run(0, nullptr);
  expect("h.2.w", {101, 202, 303});
  r.executable->run(1, nullptr);
  expect("h.1.w", {111, 222, 333});
  set("h.1.w", {7, 8, 9});
  r.executable->run(0, nullptr);
  expect("h.0.w", {-1, -2, -3});
  expect("h.1.w", {7, 8, 9});
  expect("h.2.w", {100, 200, 300});
  EXPECT_TRUE(backend->device().check().ok());
}

// Gradients and a cache have the same place in the arena; each is its own while its phase lasts.
TEST(Xla, StatesOfTwoPhasesShareTheirPlace) {
  HONE_XLA_OR_SKIP(backend);
  std::vector<Program> programs;
  for (const char* role : {"grad", "cache"})
    programs.push_back(program_of(fmt::format(R"(program {0}
state "{0}" %0 : f32[4] {{role="{0}"}}
  %1 : f32[] = constant() {{dtype="f32", shape=[], value=1.0}}
  %2 : f32[4] = add(%0, %1)
next %0 = %2
)",
                                              role)));
  const Running r(*backend, std::move(programs));
  ASSERT_EQ(r.at("grad"), r.at("cache"));
  Queue& queue = backend->device().queue(Lane::compute);
  queue.zero(r.at("grad"), 16);
  r.executable->run(0, nullptr);
  r.executable->run(0, nullptr);
  EXPECT_EQ(numbers_of(queue, r.at("grad"), 4), std::vector<float>(4, 2));
  queue.zero(r.at("cache"), 16);
  r.executable->run(1, nullptr);
  EXPECT_EQ(numbers_of(queue, r.at("cache"), 4), std::vector<float>(4, 1));
  queue.zero(r.at("grad"), 16);
  r.executable->run(0, nullptr);
  EXPECT_EQ(numbers_of(queue, r.at("grad"), 4), std::vector<float>(4, 1));
}

TEST(Xla, TheCompilerMakesBroadcastsAndElementsOfUpdatesWhereTheyAreRead) {
  Program p = program_of(R"(
input "x" %0 : f32[]
  %1 : f32[8] = broadcast(%0) {shape=[8], axes=[]}
  %2 : f32[8] = neg(%1)
output "y" = %2
)");
  EXPECT_TRUE(xla::choose_planned({p, p.nodes[0]}).value().fused);
  EXPECT_FALSE(xla::choose_planned({p, p.nodes[1]}).value().fused);
  p.nodes[1].phase = Phase::update;
  EXPECT_TRUE(xla::choose_planned({p, p.nodes[1]}).value().fused);
}

TEST(Xla, EqualProgramsAreCompiledOnce) {
  HONE_XLA_OR_SKIP(backend);
  const char* text = R"(program p
state "w" %0 : f32[3] {role="param", trainable=true}
  %1 : f32[3] = neg(%0)
next %0 = %1
)";
  const int64_t before = xla::compiles_of(*backend);
  const Running a(*backend, {program_of(text)}), b(*backend, {program_of(text)});
  EXPECT_EQ(xla::compiles_of(*backend), before + 1);
}

// Another process would do the same: the folder has the programs, and a damaged one is compiled again.
TEST(Xla, CompiledProgramsAreKeptInAFolder) {
  const std::string folder = testing::TempDir() + "hone_xla_cache";
  std::filesystem::remove_all(folder);
  const auto open = [&](double keep_after_s) {
    return xla::open_backend(
        {.name = "xla_cpu", .threads = 1, .cache = folder, .keep_after_s = keep_after_s});
  };
  const char* text = R"(program p
state "w" %0 : f32[3] {role="param", trainable=true}
  %1 : f32[3] = exp(%0)
next %0 = %1
)";
  const auto run = [&](double keep_after_s, int64_t compiles, int64_t loads) {
    const auto backend = open(keep_after_s);
    ASSERT_TRUE(backend.ok()) << backend.error().text();
    const Running r(**backend, {program_of(text)});
    EXPECT_EQ(xla::compiles_of(**backend), compiles);
    EXPECT_EQ(xla::loads_of(**backend), loads);
    const std::vector<float> start{0, 1, 2};
    Queue& queue = (*backend)->device().queue(Lane::compute);
    queue.copy(r.at("w"), start.data(), 12);
    r.executable->run(0, nullptr);
    EXPECT_FLOAT_EQ(numbers_of(queue, r.at("w"), 3)[2], std::exp(2.0f));
  };
  if (const auto any = open(1); !any.ok()) GTEST_SKIP() << any.error().text();
  run(1e9, 1, 0);
  EXPECT_FALSE(std::filesystem::exists(folder)) << "it was compiled fast";
  run(0, 1, 0);
  run(0, 0, 1);
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    std::fstream damaged(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    damaged.seekp(-1, std::ios::end);
    damaged.put('?');
  }
  run(0, 1, 0);
  run(0, 0, 1);
  std::filesystem::remove_all(folder);
}

// A dropout of three tokens, the second one of its program.
struct Mask {
  Program program = program_of(R"(program mask
input "rng" %0 : i64[2]
input "samples" %1 : i64[3]
input "positions" %2 : i32[3]
  %3 : bool[3,130] = dropout_mask(%0, %1, %2) {p=0.3, channels=130, key="h.6.mlp"}
  %4 : bool[3,130] = dropout_mask(%0, %1, %2) {p=0.3, channels=130, key="h.7.mlp"}
output "mask" = %4
)");
  std::vector<int64_t> rng{42, 1000000007}, samples{0, 5, 1099511627781};
  std::vector<int32_t> positions{0, 17, 4000};

  void expect(std::span<const uint8_t> mask) const {
    const DropoutKey key = dropout_key(42, 1000000007, scope_hash("h.7.mlp"));
    for (size_t t = 0; t < 3; ++t)
      for (int32_t c = 0; c < 130; ++c)
        ASSERT_EQ(mask[t * 130 + static_cast<size_t>(c)] != 0,
                  dropout_word(key, samples[t], positions[t], c) >= dropout_threshold(0.3))
            << t << " " << c;
  }
};

// A mask is the same integers as on every other device.
TEST(Xla, DropoutKeepsWhatPhiloxKeeps) {
  HONE_XLA_OR_SKIP(backend);
  const Mask m;
  Tensors given;
  given["rng"] = Tensor::of({DType::i64, {2}}, {m.rng.begin(), m.rng.end()});
  given["samples"] = Tensor::of({DType::i64, {3}}, {m.samples.begin(), m.samples.end()});
  given["positions"] = Tensor::of({DType::i32, {3}}, {m.positions.begin(), m.positions.end()});
  m.expect(interpret(m.program, *backend, given).value().outputs.at("mask").bytes);
}

// The text that a TPU gets.
TEST(Xla, DropoutWithoutIntegersOf64BitsKeepsTheSame) {
  const auto file = xla::find_plugin(xla::Platform::cpu);
  if (!file.ok()) GTEST_SKIP() << file.error().text();
  const Mask m;
  const std::string text = xla::write_module(m.program, {xla::Integers::of_32_bits}).text;
  for (const std::string& line : split(text, '\n'))
    EXPECT_FALSE(line.find("multiply") != line.npos && line.ends_with("ui64>")) << line;
  const auto client = xla::Client::open(xla::Plugin::load(*file).value()).value();
  const auto program = client->compile(text).value();
  const std::vector<xla::Buffer> given = [&] {
    std::vector<xla::Buffer> all;
    all.push_back(client->upload(0, m.rng.data(), {DType::i64, {2}}).value());
    all.push_back(client->upload(0, m.samples.data(), {DType::i64, {3}}).value());
    all.push_back(client->upload(0, m.positions.data(), {DType::i32, {3}}).value());
    return all;
  }();
  std::vector<xla::pjrt::Buffer*> arguments, results(1);
  for (const xla::Buffer& b : given) arguments.push_back(b.raw());
  ASSERT_TRUE(program->run(0, arguments, results).ok());
  const xla::Buffer result(*client, results[0]);
  std::vector<uint8_t> mask(3 * 130);
  ASSERT_TRUE(client->download(result, mask.data(), std::ssize(mask)).ok());
  m.expect(mask);
}

}  // namespace
}  // namespace hone
