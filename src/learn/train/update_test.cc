// Ten steps of each optimizer against PyTorch, Transformers and the papers
// (tests/goldens/learn_train/optimizers.json, made again by tools/golden_optimizers.py).
#include "learn/train/update.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <set>

#include "base/store/temporary_folder.h"
#include "engine/backends/backends.h"
#include "engine/backends/tested_backends_test.h"
#include "engine/ops/ops.h"
#include "engine/passes/differentiate.h"
#include "engine/passes/offload.h"
#include "engine/passes/schedule.h"
#include "engine/session/session.h"

namespace hone {
namespace {

Json goldens(const std::string& file = "optimizers") {
  return Json::parse(
      std::ifstream(std::string(HONE_SOURCE_DIR) + "/tests/goldens/learn_train/" + file + ".json"));
}

TrainSettings settings_of(const Json& j) {
  TrainSettings s;
  s.optim = j.at("optim");
  s.optim_args = j.value("optim_args", "");
  s.weight_decay = j.value("weight_decay", 0.0);
  s.adam_beta1 = j.value("adam_beta1", s.adam_beta1);
  s.adam_beta2 = j.value("adam_beta2", s.adam_beta2);
  s.adam_epsilon = j.value("adam_epsilon", s.adam_epsilon);
  s.max_grad_norm = j.at("max_grad_norm");
  s.ema_decay = j.value("ema_decay", 0.0);
  s.warmup_steps = j.value("warmup_steps", 0.0);
  return s;
}

void put(Session& s, const std::string& name, const Json& values) {
  const auto v = values.get<std::vector<float>>();
  s.write_state(name, std::as_bytes(std::span(v)));
}

void ten_steps(const Backend& backend, const Json& golden, const Json& of) {
  std::vector<UpdateWeight> weights;
  for (const auto& [name, shape] : golden["shapes"].items())
    weights.push_back({name, {DType::f32, shape.get<Shape>()}, name != "v", false, name != "v"});
  std::vector<Program> programs;
  programs.push_back(build_update(weights, update_options(settings_of(of["settings"])).value()));
  Session s = std::move(Session::compile(std::move(programs), backend).value());
  ASSERT_TRUE(s.allocate().ok());
  for (const auto& [name, values] : golden["start"].items()) put(s, name, values);
  for (size_t step = 0; step < golden["rates"].size(); ++step) {
    for (const auto& [name, values] : golden["gradients"][step].items())
      put(s, "grad." + name, values);
    // Adafactor makes a full step of it all the same: tools/golden_optimizers.py says why it
    // counts.
    if (of.contains("vanishing")) {
      std::vector<float> v = s.state_values<float>("grad.v");
      v[1] *= of["vanishing"].get<float>();
      s.write_state("grad.v", std::as_bytes(std::span(v)));
    }
    s.input<double>(0, "lr")[0] = golden["rates"][step];
    s.input<int64_t>(0, "step")[0] = static_cast<int64_t>(step) + 1;
    s.run(0);
    const std::string key = std::to_string(step + 1);
    if (!of["after"].contains(key)) continue;
    const auto expect = [&](const Json& golden_of, const std::string& state) {
      for (const auto& [name, values] : golden_of[key].items()) {
        const std::vector<float> got = s.state_values<float>(state + name);
        for (size_t i = 0; i < values.size(); ++i)
          ASSERT_NEAR(got[i], values[i].get<float>(), 2e-6)
              << of["settings"] << " " << state << name << "[" << i << "] after step " << key;
      }
    };
    expect(of["after"], "");
    if (of.contains("average")) expect(of["average"], "average.");
  }
}

TEST(Update, TenStepsOfEachOptimizer) {
  for (const char* file : {"optimizers", "optimizers_apollo"}) {
    const Json golden = goldens(file);
    for (const std::string& name : tested_backends(portable_backend_names())) {
      const auto backend = open_backend(name, {.threads = 2}).value();
      for (const Json& of : golden["cases"]) ten_steps(*backend, golden, of);
    }
  }
}

// Ten steps of weights together, with LoRA+'s ratio; the values of each.
std::map<std::string, std::vector<float>> ten_loraplus_steps(
    const Backend& backend, const std::vector<std::pair<std::string, Shape>>& shapes, double ratio,
    double rate) {
  std::vector<UpdateWeight> weights;
  for (const auto& [name, shape] : shapes) weights.push_back({name, {DType::f32, shape}});
  UpdateOptions options;
  options.max_grad_norm = 0;
  options.attrs.set("weight_decay", 0.1);
  options.loraplus_lr_ratio = ratio;
  std::vector<Program> programs;
  programs.push_back(build_update(weights, options));
  Session s = std::move(Session::compile(std::move(programs), backend).value());
  EXPECT_TRUE(s.allocate().ok());
  const auto fill = [&](const std::string& name, float next) {
    std::vector<float> values(static_cast<size_t>(s.state_type(name).count()));
    for (float& x : values) x = next = std::fmod(next * 1.7f + 0.11f, 1.0f);
    s.write_state(name, std::as_bytes(std::span(values)));
  };
  for (const auto& [name, shape] : shapes) fill(name, 0.3f);
  for (int step = 1; step <= 10; ++step) {
    for (const auto& [name, shape] : shapes) fill("grad." + name, 0.05f * static_cast<float>(step));
    s.input<double>(0, "lr")[0] = rate;
    s.input<int64_t>(0, "step")[0] = step;
    s.run(0);
  }
  std::map<std::string, std::vector<float>> after;
  for (const auto& [name, shape] : shapes) after[name] = s.state_values<float>(name);
  return after;
}

// PEFT's create_loraplus_optimizer: matrices B and vectors have the ratio, all others have the run's rate.
TEST(Update, LoraPlusGivesItsRatioToMatricesBAndVectors) {
  const std::vector<std::pair<std::string, Shape>> shapes = {
      {"base_model.model.q.lora_A.weight", {2, 5}},
      {"base_model.model.q.lora_B.weight", {7, 2}},
      {"base_model.model.q.lora_magnitude_vector", {7}},
      {"base_model.model.score.weight", {3, 5}}};
  for (const std::string& name : tested_backends(portable_backend_names())) {
    const auto backend = open_backend(name, {.threads = 2}).value();
    const auto together = ten_loraplus_steps(*backend, shapes, 16, 0.001);
    for (const size_t k : {size_t{0}, size_t{1}, size_t{2}, size_t{3}}) {
      const double rate = k == 1 || k == 2 ? 0.016 : 0.001;
      const auto alone = ten_loraplus_steps(*backend, {shapes[k]}, 1, rate);
      EXPECT_EQ(together.at(shapes[k].first), alone.at(shapes[k].first)) << shapes[k].first;
    }
  }
}

// Three steps; the values of all weights and states, one after the other.
std::vector<float> three_f32_steps(const Backend& backend, UpdateOptions options,
                                   int64_t group_bytes, Space home, const std::string& folder) {
  const std::vector<UpdateWeight> weights{{"small", {DType::f32, {3, 4}}, true},
                                          {"large", {DType::f32, {11, 2, 3}}, true},
                                          {"long", {DType::f32, {50}}, false},
                                          {"scalar", {DType::f32, {}}, false}};
  options.group_bytes = group_bytes;
  std::vector<Program> programs;
  programs.push_back(build_update(weights, options));
  if (home != Space::device) {
    const bool on_device = optimizer_named(options.optimizer).decomposed;
    const HostLane lane = on_device ? HostLane::none : backend.spec().host_lane;
    EXPECT_TRUE(offload(programs[0], {.moments = home, .host_lane = lane}).value());
    const std::string& op = optimizer_named(options.optimizer).op;
    const bool by_element = op_table().find(op)->attr("rows") != nullptr;
    const bool on_host = home == Space::host &&
                         (lane == HostLane::one_place || (lane == HostLane::apart && by_element));
    for (const Node& n : programs[0].nodes) {
      if (n.op->name != op) continue;
      EXPECT_EQ(n.lane, on_host ? Lane::host_compute : Lane::compute);
    }
  }
  const Optimizer& optimizer = optimizer_named(options.optimizer);
  const bool own = !optimizer.is_for || optimizer.is_for(weights[1], options.attrs);
  const std::string& op = own ? optimizer.op : optimizer.other_op;
  int large = 0;  // nodes that update it
  for (const Node& n : programs[0].nodes)
    for (size_t i = 0; n.op->name == op && i < n.in.size(); ++i) {
      ValueId v = n.in[i];  // or a copy of it on the host
      const auto maker = [&] { return programs[0].values[static_cast<size_t>(v)].node; };
      for (int at = maker(); at >= 0; at = maker()) {
        const Node& from = programs[0].nodes[static_cast<size_t>(at)];
        if (!from.op->copies && !from.op->waits) break;
        v = from.in[0];
      }
      large += v == programs[0].state_named("grad.large")->value;
    }
  const std::map<int64_t, int> parts{
      {int64_t{64} << 20, 1}, {100, 3}, {24, 11}};  // of 24-byte rows
  EXPECT_EQ(large, op_table().find(op)->attr("rows") ? parts.at(group_bytes) : 1);
  Session s = std::move(Session::compile(std::move(programs), backend).value());
  EXPECT_TRUE(s.allocate(folder).ok());
  std::set<std::string> names;
  for (const StateSlot& slot : s.plan().states) names.insert(slot.tensor());
  float next = 0.3f;
  for (int step = 1; step <= 3; ++step) {
    for (const std::string& name : names) {
      if (step > 1 && !name.starts_with("grad.")) continue;
      if (s.state_type(name).dtype == DType::f64) continue;  // a number of the rule, which stays 0
      std::vector<float> values(static_cast<size_t>(s.state_type(name).count()));
      for (float& x : values) x = next = std::fmod(next * 1.7f + 0.11f, 1.0f);
      s.write_state(name, std::as_bytes(std::span(values)));
    }
    s.input<double>(0, "lr")[0] = 0.01;
    s.input<int64_t>(0, "step")[0] = step;
    s.run(0);
  }
  std::vector<float> all;
  for (const std::string& name : names)
    if (s.state_type(name).dtype == DType::f64)
      for (const double x : s.state_values<double>(name)) all.push_back(static_cast<float>(x));
    else
      for (const float x : s.state_values<float>(name)) all.push_back(x);
  return all;
}

TEST(Update, PartsOfALargeWeightChangeNoBit) {
  const TemporaryFolder folder;
  for (const std::string& optimizer : optimizer_names())
    for (const std::string& name : tested_backends(portable_backend_names())) {
      SCOPED_TRACE(optimizer + " " + name);
      TrainSettings s;
      s.optim = optimizer;
      s.weight_decay = 0.1;
      const UpdateOptions options = update_options(s).value();
      const auto backend = open_backend(name, {.threads = 2}).value();
      if (!backend->computes()) continue;
      const std::vector<float> whole =
          three_f32_steps(*backend, options, int64_t{64} << 20, Space::device, "");
      size_t number = 0;  // of a check
      for (const int64_t bytes : {100, 24})
        for (const Space home : {Space::device, Space::host, Space::disk}) {
          if (home != Space::device && optimizer == "sgd") continue;  // it keeps nothing
          if (!makes_check(name, number++, 4)) continue;
          const std::vector<float> parts =
              three_f32_steps(*backend, options, bytes, home, folder.path);
          ASSERT_EQ(parts.size(), whole.size());
          EXPECT_EQ(std::memcmp(parts.data(), whole.data(), whole.size() * sizeof(float)), 0)
              << bytes << " bytes, " << name_of(home);
        }
    }
}

// The most bytes alive at once in a step over eight weights, each in a group of its own.
int64_t live_in_step(double max_grad_norm) {
  Program p(op_table(), "step");
  Builder b(p);
  ValueId x = p.add_input("x", {DType::f32, {4, 64}});
  std::vector<UpdateWeight> weights;
  for (int i = 0; i < 8; ++i) {
    weights.push_back({fmt::format("w{}", i), {DType::f32, {64, 64}}});
    State s;
    s.name = weights.back().name;
    s.trainable = true;
    const ValueId w = p.add_state(std::move(s), weights.back().type);
    x = ops::tanh(b, ops::matmul(b, x, w));
  }
  p.outputs.push_back({"loss", ops::reduce_sum(b, x, {0, 1})});
  UpdateOptions options = update_options(TrainSettings()).value();
  options.max_grad_norm = max_grad_norm;
  options.group_bytes = weights[0].type.bytes();
  EXPECT_TRUE(differentiate(p, Gradients::values).ok());
  append_update(p, weights, options);
  EXPECT_TRUE(schedule(p).ok());
  std::vector<Program> programs;
  programs.push_back(std::move(p));
  const auto backend = open_backend("reference", {}).value();
  Session session = std::move(Session::compile(std::move(programs), *backend).value());
  return session.plan().programs[0].live_bytes;
}

// Clipping needs the norm of all gradients. Without it no more than a few wait for their update.
TEST(Update, WithoutClippingGradientsDoNotWaitForEachOther) {
  const int64_t one = Type{DType::f32, {64, 64}}.bytes(), clipped = live_in_step(1),
                free = live_in_step(0);
  EXPECT_GE(clipped - free, 5 * one) << clipped << " " << free;
}

TEST(Update, EveryOptimizerHasAGolden) {
  std::set<const Optimizer*> seen;
  for (const char* file :
       {"optimizers", "optimizers_4bit", "optimizers_8bit", "optimizers_apollo"}) {
    const Json golden = goldens(file);
    for (const Json& of : golden["cases"])
      seen.insert(&optimizer_named(of["settings"]["optim"].get<std::string>()));
  }
  for (const std::string& name : optimizer_names())
    EXPECT_TRUE(seen.contains(&optimizer_named(name))) << name;
}

std::vector<std::string> state_names(const std::string& optim, const std::string& args = "") {
  TrainSettings s;
  s.optim = optim;
  s.optim_args = args;
  std::vector<std::string> names;
  for (const OptimizerState& state :
       update_states({{"w", {DType::f32, {2, 3, 4}}, true}, {"b", {DType::f32, {4}}, false}},
                     update_options(s).value()))
    names.push_back(state.name + state.type.text());
  return names;
}

TEST(Update, StatesAreNamedAndSizedAsInTheOriginals) {
  using testing::ElementsAre;
  EXPECT_THAT(state_names("sgd"), ElementsAre());
  EXPECT_THAT(state_names("sgd", "momentum=0.5"),
              ElementsAre("momentum_buffer.wf32[2,3,4]", "momentum_buffer.bf32[4]"));
  EXPECT_THAT(state_names("lion"), ElementsAre("exp_avg.wf32[2,3,4]", "exp_avg.bf32[4]"));
  EXPECT_THAT(state_names("schedule_free_adamw"),
              testing::IsSupersetOf({"z.wf32[2,3,4]", "exp_avg_sq.bf32[4]", "average.wf32[2,3,4]",
                                     "weight_sum.wf64[]"}));
  EXPECT_THAT(
      state_names("adafactor"),
      ElementsAre("exp_avg_sq_row.wf32[2,3]", "exp_avg_sq.bf32[4]", "exp_avg_sq_col.wf32[2,4]"));
}

TEST(Update, LowRanksKeepLessOfTheirTargets) {
  TrainSettings s;
  s.optim = "apollo_adamw";
  s.optim_args = "rank=4";
  std::vector<std::string> names;
  for (const OptimizerState& state :
       update_states({{"tall", {DType::f32, {30, 20}}, true, false, true},
                      {"wide", {DType::f32, {20, 30}}, true, false, true},
                      {"other", {DType::f32, {20, 30}}}},
                     update_options(s).value()))
    names.push_back(state.name + state.type.text());
  EXPECT_THAT(names, testing::ElementsAre("exp_avg.tallf32[30,4]", "exp_avg.widef32[4,30]",
                                          "exp_avg_sq.tallf32[30,4]", "exp_avg_sq.widef32[4,30]",
                                          "scaled_grad.tallf32[]", "scaled_grad.widef32[]",
                                          "exp_avg.otherf32[20,30]", "exp_avg_sq.otherf32[20,30]"));
}

std::string optim_refusal(const std::string& optim, const std::string& args) {
  TrainSettings s;
  s.optim = optim;
  s.optim_args = args;
  const auto o = update_options(s);
  return o.ok() ? "" : o.error().text();
}

TEST(Update, ArgumentsAreChecked) {
  using testing::HasSubstr;
  EXPECT_THAT(optim_refusal("sgd", "momentun=0.9"),
              HasSubstr("H2409  the optimizer sgd takes no argument"));
  EXPECT_THAT(optim_refusal("sgd", "momentum=much"), HasSubstr("momentum cannot be 'much'"));
  EXPECT_THAT(optim_refusal("sgd", "momentum"), HasSubstr("'momentum' is not name=value"));
  EXPECT_THAT(optim_refusal("sgd", "nesterov=true"), HasSubstr("nesterov needs a momentum"));
  EXPECT_THAT(optim_refusal("rmsprop", "weight_decay=0.1"), HasSubstr("use --weight_decay 0.1"));
  EXPECT_THAT(optim_refusal("sgd", "momentum=-1"), HasSubstr("give a number, 0 or more"));
  EXPECT_THAT(optim_refusal("rmsprop", "alpha=2"), HasSubstr("at most 1"));
  EXPECT_THAT(optim_refusal("adamw_torch", "eps=1"), HasSubstr("takes no argument 'eps'"));
  EXPECT_EQ(optim_refusal("apollo_adamw", "rank=1,scale_type=tensor,scale=128,proj_type=left"), "");
  EXPECT_THAT(optim_refusal("apollo_adamw", "rank=1.5"),
              HasSubstr("give a whole number, 1 or more"));
  EXPECT_THAT(optim_refusal("apollo_adamw", "rank=0"), HasSubstr("rank cannot be '0'"));
  EXPECT_THAT(optim_refusal("apollo_adamw", "proj=svd"), HasSubstr("give random"));
  EXPECT_THAT(optim_refusal("apollo_adamw", "proj_type=left"), HasSubstr("use proj_type=std or"));
  TrainSettings aimed;
  aimed.optim_target_modules = {"attn"};
  EXPECT_THAT(update_options(aimed).error().text(), HasSubstr("adamw_torch is for all layers"));
  aimed.optim = "apollo_adamw";
  ASSERT_TRUE(update_options(aimed).ok());
  EXPECT_THAT(check_targets({{"w", {DType::f32, {4, 4}}}}, aimed).error().text(),
              HasSubstr("no linear layer of the model is named attn"));
  aimed.optim_target_modules = {};
  EXPECT_THAT(check_targets({{"w", {DType::f32, {4, 4}}}}, aimed).error().text(),
              HasSubstr("needs to know for which layers it is"));
  TrainSettings averaged;
  averaged.ema_decay = 0.9;
  EXPECT_EQ(update_options(averaged)->ema_decay, 0.9);
  averaged.zero_stage = 1;
  EXPECT_THAT(update_options(averaged).error().text(), HasSubstr("states that ranks divide"));
  averaged.zero_stage = 0;
  averaged.optim = "schedule_free_adamw";
  EXPECT_THAT(update_options(averaged).error().text(), HasSubstr("which keeps its own"));
  averaged.ema_decay = 0;
  averaged.warmup_steps = 7;
  EXPECT_EQ(update_options(averaged)->attrs.integer("warmup_steps"), 7);
  averaged.offload_optimizer_device = "cpu";
  EXPECT_THAT(update_options(averaged).error().text(), HasSubstr("offloaded optimizer states"));
  TrainSettings still;
  still.adam_beta2 = 1;
  EXPECT_THAT(update_options(still).error().text(), HasSubstr("--adam_beta2 1"));
}

}  // namespace
}  // namespace hone
