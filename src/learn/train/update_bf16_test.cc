// Updates of weights that are kept in bf16: the same bits for any threads, places and parts, and on
// the mean the weights of f32.
#include <gmock/gmock.h>

#include <cmath>

#include "base/store/temporary_folder.h"
#include "engine/backends/backends.h"
#include "engine/passes/offload.h"
#include "engine/session/session.h"
#include "learn/train/update.h"

namespace hone {
namespace {

using Bytes = std::map<std::string, std::vector<std::byte>>;  // by tensor

std::vector<UpdateWeight> narrow_weights_of() {
  return {{"small", {DType::bf16, {3, 4}}, true},
          {"large", {DType::bf16, {70, 2, 64}}, true},
          {"table", {DType::bf16, {50, 90}}, true, true},
          {"long", {DType::bf16, {50}}, false},
          {"scalar", {DType::bf16, {}}, false}};
}

UpdateOptions options_of(const std::string& optimizer) {
  TrainSettings s;
  s.optim = optimizer;
  s.weight_decay = 0.1;
  s.dtype = "bfloat16";
  UpdateOptions options = update_options(s).value();
  options.gradients = DType::bf16;
  return options;
}

void write_bf16(Session& s, const std::string& name, float& next) {
  std::vector<uint16_t> values(static_cast<size_t>(s.state_type(name).count()));
  for (uint16_t& x : values) x = f32_to_bf16((next = std::fmod(next * 1.7f + 0.11f, 1.0f)) - 0.5f);
  s.write_state(name, std::as_bytes(std::span(values)));
}

struct How {
  int threads = 1;
  int64_t group_bytes = int64_t{64} << 20;
  Space home = Space::device;
};

Bytes three_steps(const std::string& backend_name, UpdateOptions options, const How& how,
                  const std::string& folder) {
  const auto backend = open_backend(backend_name, {.threads = how.threads}).value();
  options.group_bytes = how.group_bytes;
  std::vector<Program> programs;
  programs.push_back(build_update(narrow_weights_of(), options));
  if (how.home != Space::device) {
    const HostLane lane = backend->spec().host_lane;
    EXPECT_TRUE(
        offload(programs[0],
                {.moments = how.home, .params = how.home, .least_elements = 0, .host_lane = lane})
            .value());
  }
  Session s = std::move(Session::compile(std::move(programs), *backend).value());
  EXPECT_TRUE(s.allocate(folder).ok());
  float next = 0.3f;
  for (int step = 1; step <= 3; ++step) {
    for (const UpdateWeight& w : narrow_weights_of()) {
      if (step == 1) write_bf16(s, w.name, next);
      write_bf16(s, "grad." + w.name, next);
    }
    s.input<double>(0, "lr")[0] = 0.01;
    s.input<int64_t>(0, "step")[0] = step;
    s.run(0);
  }
  Bytes all;
  for (const StateSlot& slot : s.plan().states)
    all[slot.tensor()] = s.state_values<std::byte>(slot.tensor());
  return all;
}

TEST(UpdateBf16, ThreadsPlacesAndPartsChangeNoBit) {
  const TemporaryFolder folder;
  for (const char* optimizer : {"adamw_torch", "adamw_8bit", "adamw_torch_8bit", "adamw_torch_4bit",
                                "sgd", "lion", "lion_8bit", "rmsprop", "adagrad"})
    for (const bool stochastic : {true, false}) {
      SCOPED_TRACE(optimizer);
      UpdateOptions options = options_of(optimizer);
      options.stochastic_rounding = stochastic;
      const Bytes first = three_steps("cpu", options, {}, folder.path);
      for (const How& how : {How{2}, How{3}, How{7}, How{2, 1000}, How{3, 300, Space::host},
                             How{2, 4096, Space::disk}, How{1, int64_t{64} << 20, Space::host}})
        EXPECT_EQ(three_steps("cpu", options, how, folder.path), first)
            << how.threads << " threads, groups of " << how.group_bytes;
      EXPECT_EQ(three_steps("far", options, {2, 1000, Space::host}, folder.path), first);
    }
}

TEST(UpdateBf16, SeedAndStepChangeTheRounding) {
  UpdateOptions options = options_of("adamw_torch");
  const Bytes first = three_steps("cpu", options, {}, "");
  options.seed = 43;
  const Bytes other = three_steps("cpu", options, {}, "");
  EXPECT_NE(first.at("large"), other.at("large"));
  options.stochastic_rounding = false;
  EXPECT_NE(first.at("large"), three_steps("cpu", options, {}, "").at("large"));
  // The first moment does not depend on the weight, so nothing but weights is rounded at random.
  EXPECT_EQ(first.at("exp_avg.large"), other.at("exp_avg.large"));
}

// Many steps, each smaller than half of the weight's last bit: to the nearest nothing changes, at
// random the mean weight is that of f32.
TEST(UpdateBf16, SmallStepsCountOnAverage) {
  const auto backend = open_backend("cpu", {.threads = 2}).value();
  constexpr int64_t kCount = 1 << 14;
  constexpr int kSteps = 200;
  for (const bool stochastic : {true, false}) {
    UpdateOptions options = options_of("sgd");
    options.attrs.set("weight_decay", 0.0);
    options.max_grad_norm = 0;
    options.stochastic_rounding = stochastic;
    std::vector<Program> programs;
    programs.push_back(build_update({{"w", {DType::bf16, {kCount}}}}, options));
    Session s = std::move(Session::compile(std::move(programs), *backend).value());
    ASSERT_TRUE(s.allocate().ok());
    const std::vector<uint16_t> ones(kCount, f32_to_bf16(1));
    s.write_state("w", std::as_bytes(std::span(ones)));
    s.write_state("grad.w", std::as_bytes(std::span(ones)));
    for (int step = 1; step <= kSteps; ++step) {
      s.input<double>(0, "lr")[0] = 0x1p-11;  // bf16 below 1 has steps of 2^-8
      s.input<int64_t>(0, "step")[0] = step;
      s.run(0);
    }
    double sum = 0;
    for (const uint16_t bits : s.state_values<uint16_t>("w"))
      sum += static_cast<double>(bf16_to_f32(bits));
    if (!stochastic) {
      EXPECT_EQ(sum, kCount);
      continue;
    }
    // Each step has a variance of at most (2^-8)^2 p (1 - p), p = 1/8.
    const double most = 4 * std::sqrt(kSteps * 0x1p-16 * (7.0 / 64) / kCount);
    EXPECT_NEAR(sum / kCount, 1 - kSteps * 0x1p-11, most);
  }
}

}  // namespace
}  // namespace hone
