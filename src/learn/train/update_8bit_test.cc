// 8-bit states: maps, codes and ten steps of bitsandbytes
// (tests/goldens/learn_train/optimizers_8bit.json, made again by tools/golden_8bit.py); 4-bit states: maps and
// ten steps of torchao (optimizers_4bit.json, tools/golden_4bit.py).
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <set>

#include "base/core/dynamic_map.h"
#include "base/store/temporary_folder.h"
#include "engine/backends/backends.h"
#include "engine/backends/tested_backends_test.h"
#include "engine/ops/ops.h"
#include "engine/passes/offload.h"
#include "engine/session/session.h"
#include "learn/train/update.h"

namespace hone {
namespace {

Json goldens_8bit(const std::string& file = "optimizers_8bit.json") {
  return Json::parse(
      std::ifstream(std::string(HONE_SOURCE_DIR) + "/tests/goldens/learn_train/" + file));
}

// value() of the golden script.
std::vector<float> made_values(uint64_t seed, int64_t count, double scale = 1) {
  std::vector<float> x;
  for (uint64_t i = 0; i < static_cast<uint64_t>(count); ++i) {
    const uint64_t h = ((i + 1) * 2654435761u + seed * 40503u) >> 8;
    const double u = static_cast<double>(h % 65536) / 32768 - 1;
    x.push_back(static_cast<float>(u * u * u) * static_cast<float>(scale));
  }
  return x;
}

Session session_of(Program program, const Backend& backend, const std::string& folder = "") {
  std::vector<Program> programs;
  programs.push_back(std::move(program));
  Session s = std::move(Session::compile(std::move(programs), backend).value());
  EXPECT_TRUE(s.allocate(folder).ok());
  return s;
}

void write(Session& s, const std::string& name, const std::vector<float>& values) {
  s.write_state(name, std::as_bytes(std::span(values)));
}

template <class T>
void fill(std::span<T> to, const std::vector<T>& from) {
  ASSERT_EQ(to.size(), from.size());
  std::copy(from.begin(), from.end(), to.begin());
}

template <class Test>
void on_each_backend(Test test) {
  for (const std::string& name : tested_backends(portable_backend_names())) {
    SCOPED_TRACE(name);
    const auto backend = open_backend(name, {.threads = 2}).value();
    if (backend->computes()) test(*backend);
  }
}

// bitsandbytes makes its maps in f32, whose last bits depend on the processor.
TEST(Update8bit, MapsAreThoseOfBitsandbytes) {
  const Json golden = goldens_8bit();
  on_each_backend([&](const Backend& backend) {
    for (const bool is_signed : {true, false}) {
      Program p(op_table(), "map");
      Builder b(p);
      const ValueId codes = p.add_input("codes", {DType::u8, {256}}),
                    absmax = p.add_input("absmax", {DType::f32, {1}});
      p.outputs.push_back({"x", ops::dequantize_dynamic(b, codes, absmax, is_signed)});
      Session s = session_of(std::move(p), backend);
      for (size_t i = 0; i < 256; ++i) s.input<uint8_t>(0, "codes")[i] = static_cast<uint8_t>(i);
      s.input<float>(0, "absmax")[0] = 1;
      s.run(0);
      const Json& map = golden["maps"][is_signed ? "signed" : "unsigned"];
      for (size_t i = 0; i < 256; ++i) {
        const float want = map[i].get<float>(), got = s.output<float>(0, "x")[i];
        EXPECT_NEAR(got, want, 2e-7 * std::fabs(want)) << i;
      }
    }
  });
}

TEST(Update8bit, CodesAreThoseOfBitsandbytes) {
  const Json golden = goldens_8bit();
  std::vector<float> x = made_values(1, 700);
  for (size_t i = 256; i < 512; ++i) x[i] *= 1e-4f;
  on_each_backend([&](const Backend& backend) {
    for (const bool is_signed : {true, false}) {
      std::vector<float> given = x;
      if (!is_signed)
        for (float& v : given) v = std::fabs(v);
      Program p(op_table(), "codes");
      Builder b(p);
      const ops::DynamicCodes made =
          ops::quantize_dynamic(b, p.add_input("x", {DType::f32, {700}}), is_signed);
      p.outputs = {{"codes", made.codes}, {"absmax", made.absmax}};
      Session s = session_of(std::move(p), backend);
      fill(s.input<float>(0, "x"), given);
      s.run(0);
      const auto codes = s.output<uint8_t>(0, "codes");
      EXPECT_THAT(std::vector<int>(codes.begin(), codes.end()),
                  testing::ElementsAreArray(
                      golden["codes"][is_signed ? "signed" : "unsigned"].get<std::vector<int>>()));
      for (size_t block = 0; block < 3; ++block) {
        float most = 0;
        for (size_t i = 256 * block; i < std::min<size_t>(700, 256 * (block + 1)); ++i)
          most = std::max(most, std::fabs(x[i]));
        EXPECT_EQ(s.output<float>(0, "absmax")[block], most);
      }
    }
  });
}

TrainSettings settings_8bit(const Json& j) {
  TrainSettings s;
  s.optim = j.at("optim");
  s.weight_decay = j.at("weight_decay");
  s.adam_beta1 = j.at("adam_beta1");
  s.adam_beta2 = j.at("adam_beta2");
  s.adam_epsilon = j.at("adam_epsilon");
  s.max_grad_norm = j.at("max_grad_norm");
  return s;
}

// A number that is next to the middle of two codes may take the other one where sums are rounded
// otherwise, and its next steps differ by the distance of two codes. Few do.
struct Differing {
  size_t all = 0, apart = 0;
  double worst = 0;
  void add(double got, double want, double allowed) {
    const double off = std::fabs(got - want);
    ++all;
    apart += off > allowed ? 1 : 0;
    worst = std::max(worst, off);
  }
};

// are_near: whether two bytes have codes of one number that was rounded otherwise.
using AreNear = bool (*)(uint8_t got, uint8_t want);

// Weights and states after the steps of a case, of which every `kept`-th element is known.
void expect_case(const Json& of, size_t kept, const Session& s, AreNear are_near) {
  for (const auto& [name, values] : of["after"].items()) {
    const std::vector<float> got = s.state_values<float>(name);
    Differing d;
    for (size_t i = 0; i < values.size(); ++i) d.add(got[i * kept], values[i].get<double>(), 2e-6);
    EXPECT_LE(d.apart, name == of["coded"] ? d.all / 100 : 0) << name << " " << d.worst;
    EXPECT_LT(d.worst, 0.05) << name;
  }
  for (const auto& [name, codes] : of["codes"].items()) {
    const std::vector<uint8_t> got = s.state_values<uint8_t>(name);
    Differing d;
    for (size_t i = 0; i < codes.size(); ++i) {
      const auto want = codes[i].get<uint8_t>();
      d.add(got[i * kept], want, 0);
      EXPECT_TRUE(are_near(got[i * kept], want)) << name << " " << i;
    }
    EXPECT_LE(d.apart, d.all / 100) << name;
  }
  for (const auto& [name, absmax] : of["absmax"].items()) {
    const std::vector<float> got = s.state_values<float>(name);
    ASSERT_EQ(got.size(), absmax.size());
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], absmax[i].get<float>(), 0.02 * absmax[i].get<float>()) << name;
  }
}

void expect_ten_steps(const Json& golden, AreNear are_near) {
  const auto kept = golden["kept"].get<size_t>();
  on_each_backend([&](const Backend& backend) {
    for (const Json& of : golden["cases"]) {
      SCOPED_TRACE(of["settings"]["optim"]);
      std::vector<UpdateWeight> weights;
      for (const auto& [name, shape] : golden["shapes"].items())
        weights.push_back({name, {DType::f32, shape.get<Shape>()}, name != "v", name == "table"});
      Session s = session_of(
          build_update(weights, update_options(settings_8bit(of["settings"])).value()), backend);
      for (size_t n = 0; n < weights.size(); ++n)
        write(s, weights[n].name, made_values(100 + n, weights[n].type.count()));
      for (size_t step = 0; step < golden["rates"].size(); ++step) {
        for (size_t n = 0; n < weights.size(); ++n)
          write(s, "grad." + weights[n].name,
                made_values(200 + 10 * step + n, weights[n].type.count(),
                            std::pow(0.01, static_cast<double>(n))));
        s.input<double>(0, "lr")[0] = golden["rates"][step];
        s.input<int64_t>(0, "step")[0] = static_cast<int64_t>(step) + 1;
        s.run(0);
      }
      expect_case(of, kept, s, are_near);
    }
  });
}

TEST(Update8bit, TenStepsOfBitsandbytes) {
  expect_ten_steps(goldens_8bit(), [](uint8_t a, uint8_t b) { return std::abs(a - b) <= 1; });
}

// Two codes a byte.
TEST(Update4bit, TenStepsOfTorchao) {
  const Json golden = goldens_8bit("optimizers_4bit.json");
  for (const bool is_signed : {true, false})
    for (size_t i = 0; i < 16; ++i) {
      const float want = golden["maps"][is_signed ? "signed" : "unsigned"][i].get<float>();
      EXPECT_NEAR(four_bit_map(is_signed).values[i], want, 2e-7 * std::fabs(want)) << i;
    }
  expect_ten_steps(golden, [](uint8_t a, uint8_t b) {
    return std::abs((a >> 4) - (b >> 4)) <= 1 && std::abs((a & 15) - (b & 15)) <= 1;
  });
}

// Three steps; the bytes of all weights and states, one after the other.
std::vector<std::byte> bytes_after_three_steps(const Backend& backend, UpdateOptions options,
                                               int64_t group_bytes, Space home,
                                               const std::string& folder,
                                               const std::map<std::string, int>& parts) {
  // Rows of 192: a block of 256 ends with every fourth row, one of 128 with every second. Rows of 75
  // elements: never before the last one.
  const std::vector<UpdateWeight> weights{{"even", {DType::f32, {31, 192}}},
                                          {"whole", {DType::f32, {32, 192}}},
                                          {"odd", {DType::f32, {61, 75}}},
                                          {"small", {DType::f32, {50, 4}}, false},
                                          {"table", {DType::f32, {70, 64}}, true, true}};
  options.group_bytes = group_bytes;
  Program program = build_update(weights, options);
  if (home != Space::device) {
    EXPECT_TRUE(offload(program, {.moments = home}).value());
  }
  for (const auto& [weight, nodes] : parts) {
    const ValueId gradient = program.state_named("grad." + weight)->value;
    int64_t found = 0;
    for (const Node& n : program.nodes)
      if (n.op->name == optimizer_named(options.optimizer).op)
        found += std::count(n.in.begin(), n.in.end(), gradient);
    EXPECT_EQ(found, nodes) << weight;
  }
  Session s = session_of(std::move(program), backend, folder);
  for (int step = 1; step <= 3; ++step) {
    for (size_t n = 0; n < weights.size(); ++n) {
      const int64_t count = weights[n].type.count();
      if (step == 1) write(s, weights[n].name, made_values(n, count));
      write(s, "grad." + weights[n].name, made_values(static_cast<uint64_t>(10 * step) + n, count));
    }
    s.input<double>(0, "lr")[0] = 0.01;
    s.input<int64_t>(0, "step")[0] = step;
    s.run(0);
  }
  std::set<std::string> names;
  for (const StateSlot& slot : s.plan().states) names.insert(slot.tensor());
  std::vector<std::byte> all;
  for (const std::string& name : names) {
    const std::vector<std::byte> one = s.state_values<std::byte>(name);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

// parts: by the bytes of a group, the nodes for each weight.
void expect_same_bits_in_parts(
    const std::string& optimizer,
    const std::map<int64_t, std::map<std::string, int>>& parts_of_bytes) {
  const TemporaryFolder folder;
  on_each_backend([&](const Backend& backend) {
    SCOPED_TRACE(optimizer);
    TrainSettings s;
    s.optim = optimizer;
    s.weight_decay = 0.1;
    const UpdateOptions options = update_options(s).value();
    const std::vector<std::byte> whole = bytes_after_three_steps(
        backend, options, int64_t{64} << 20, Space::device, "", {{"whole", 1}});
    size_t number = 0;  // of a check
    for (const auto& [bytes, parts] : parts_of_bytes)
      for (const Space home : {Space::device, Space::host, Space::disk}) {
        if (!makes_check(backend.name(), number++, 4)) continue;
        EXPECT_EQ(bytes_after_three_steps(backend, options, bytes, home, folder.path, parts), whole)
            << bytes << " bytes, " << name_of(home);
      }
  });
}

TEST(Update8bit, PartsHoldWholeBlocksAndChangeNoBit) {
  for (const std::string optimizer : {"adamw_bnb_8bit", "lion_8bit"})
    expect_same_bits_in_parts(optimizer, {{8 * 768, {{"even", 4}, {"odd", 1}, {"whole", 4}}},
                                          {100, {{"even", 8}, {"odd", 1}, {"whole", 8}}}});
}

// Weights that are not whole blocks have the other op.
TEST(Update4bit, PartsHoldWholeBlocksAndChangeNoBit) {
  expect_same_bits_in_parts("adamw_torch_4bit", {{8 * 768, {{"even", 0}, {"odd", 0}, {"whole", 4}}},
                                                 {100, {{"even", 0}, {"odd", 0}, {"whole", 16}}}});
}

std::vector<std::string> names_8bit(const std::string& optim) {
  TrainSettings s;
  s.optim = optim;
  std::vector<std::string> names;
  for (const OptimizerState& state : update_states({{"w", {DType::f32, {65, 64}}},
                                                    {"u", {DType::f32, {64, 65}}},
                                                    {"table", {DType::f32, {64, 64}}, true, true},
                                                    {"b", {DType::f32, {4095}}, false}},
                                                   update_options(s).value()))
    names.push_back(state.name + state.type.text());
  return names;
}

TEST(Update8bit, EmbeddingsAndSmallWeightsKeepFloats) {
  using testing::ElementsAre;
  EXPECT_THAT(names_8bit("paged_adamw_8bit"),
              ElementsAre("state1.wu8[65,64]", "state1.uu8[64,65]", "absmax1.wf32[17]",
                          "absmax1.uf32[17]", "state2.wu8[65,64]", "state2.uu8[64,65]",
                          "absmax2.wf32[17]", "absmax2.uf32[17]", "state1.tablef32[64,64]",
                          "state1.bf32[4095]", "state2.tablef32[64,64]", "state2.bf32[4095]"));
  EXPECT_THAT(names_8bit("lion_8bit"),
              ElementsAre("state1.wu8[65,64]", "state1.uu8[64,65]", "absmax1.wf32[17]",
                          "absmax1.uf32[17]", "state1.tablef32[64,64]", "state1.bf32[4095]"));
  EXPECT_THAT(
      names_8bit("adamw_torch_8bit"),
      ElementsAre("exp_avg.tableu8[64,64]", "exp_avg_scale.tablef32[16]",
                  "exp_avg_sq.tableu8[64,64]", "exp_avg_sq_scale.tablef32[16]",
                  "exp_avg.wf32[65,64]", "exp_avg.uf32[64,65]", "exp_avg.bf32[4095]",
                  "exp_avg_sq.wf32[65,64]", "exp_avg_sq.uf32[64,65]", "exp_avg_sq.bf32[4095]"));
}

TEST(Update4bit, WeightsOfWholeBlocksHaveCodes) {
  EXPECT_THAT(names_8bit("adamw_torch_4bit"),
              testing::ElementsAre("exp_avg.tableu8[2048]", "exp_avg_scale.tablef32[32]",
                                   "exp_avg_sq.tableu8[2048]", "exp_avg_sq_scale.tablef32[32]",
                                   "exp_avg.wf32[65,64]", "exp_avg.uf32[64,65]",
                                   "exp_avg.bf32[4095]", "exp_avg_sq.wf32[65,64]",
                                   "exp_avg_sq.uf32[64,65]", "exp_avg_sq.bf32[4095]"));
}

}  // namespace
}  // namespace hone
