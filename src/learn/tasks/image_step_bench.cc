// Times optimizer steps of models of images from random weights, on random pixels, for bench/image_step.py.
//
//   learn_tasks_bench CONFIG.json IMAGES SIDE STEPS THREADS [f32|bf16] [PROFILE]
//
// Prints {"seconds": median of STEPS after a first one, "cpu_seconds": the same of the processor's time, "planned_bytes",
// "peak_bytes": of this process, "loss": of the last step}; with PROFILE also the profile of one step.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "base/core/clock.h"
#include "base/core/memory.h"
#include "engine/backends/backends.h"
#include "engine/passes/pipelines.h"
#include "engine/session/profile.h"
#include "engine/session/session.h"
#include "learn/models/image_model.h"
#include "learn/pretrained/open.h"
#include "learn/pretrained/pretrained.h"
#include "learn/tasks/image_classification_settings.h"
#include "learn/train/update.h"

namespace hone {
namespace {

Program image_step(const ModelConfig& config, int64_t images, int64_t side) {
  Program p(op_table(), "step");
  Builder b(p);
  ModelGraph g(b, config, ModelGraph::Mode::train);
  if (Status s = add_image_inputs(g, images, side, side); !s.ok()) throw BuildError(s.error());
  add_model_states(g, true);
  const ValueId labels = p.add_input("labels", {DType::i32, {images}}),
                scale = p.add_input("scale", {DType::f32, {}});
  const HeadLayer head = model_head(g);
  p.outputs.push_back(
      {"loss",
       ops::linear_cross_entropy(b, head.x, head.weight, labels, scale, true, 0, head.bias).loss});
  return p;
}

// The processor's time of all threads.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

int run(const std::string& file, int64_t images, int64_t side, int steps, int threads,
        Precision precision, bool profiles) {
  OpenOptions options;
  options.config_name = file;
  options.need_weights = options.need_tokenizer = false;
  const ModelConfig config = open_pretrained("", options).value().config;
  std::vector<UpdateWeight> weights;
  for (const ParamSpec& p : family_of(config).params(config))
    if (p.is_trained()) weights.push_back({p.name, {DType::f32, p.shape}, p.decay});
  const ImageClassificationSettings settings;
  const UpdateOptions update = update_options(settings).value();
  std::vector<Program> programs;
  programs.push_back(image_step(config, images, side));
  const auto append = [&](Program& p) -> Result<bool> {
    append_update(p, weights, update);
    return true;
  };
  if (const auto passed = run_passes(
          programs[0],
          step_pipeline(append, {.precision = precision, .recompute = settings.recompute()}), {});
      !passed)
    throw BuildError(passed.error());
  const auto backend = open_backend("cpu", {.threads = threads}).value();
  Session s = Session::compile(std::move(programs), *backend).value();
  if (Status a = s.allocate(); !a.ok()) throw BuildError(a.error());
  if (Status w = init_weights(s, config, 1); !w.ok()) throw BuildError(w.error());
  const auto pixels = s.input<float>(0, "pixels");
  for (size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = static_cast<float>((i + 1) * 7919 % 65521) / 65521 * 4 - 2;
  for (int64_t i = 0; i < images; ++i)
    s.input<int32_t>(0, "labels")[static_cast<size_t>(i)] =
        static_cast<int32_t>(i * 37 % config.labels);
  if (s.has_input(0, "image_count"))
    s.input<int32_t>(0, "image_count")[0] = static_cast<int32_t>(images);
  s.input<float>(0, "scale")[0] = 1.0F / static_cast<float>(images);
  s.input<double>(0, "lr")[0] = 1e-4;
  std::vector<double> seconds, cpu;
  for (int step = 0; step <= steps; ++step) {
    s.input<int64_t>(0, "step")[0] = step + 1;
    const double begin = system_clock().seconds(), used = cpu_seconds();
    s.run(0);
    if (step == 0) continue;
    seconds.push_back(system_clock().seconds() - begin);
    cpu.push_back(cpu_seconds() - used);
  }
  std::printf(
      "{\"seconds\": %.4f, \"cpu_seconds\": %.4f, \"planned_bytes\": %lld, \"peak_bytes\": %lld, "
      "\"loss\": %.4f}\n",
      median(seconds), median(cpu), static_cast<long long>(s.plan().arena_bytes(Space::device)),
      static_cast<long long>(read_memory().rss_peak_bytes),
      static_cast<double>(s.output<float>(0, "loss")[0]));
  if (!profiles) return 0;
  Profile profile;
  s.profile_into(&profile);
  s.run(0);
  s.profile_into(nullptr);
  const MachineLimits limits = measure_limits(*backend).value();
  std::fputs(profile_table(s, profile, limits, 1).c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace hone

int main(int argc, char** argv) {
  const std::string precision = argc > 6 ? argv[6] : "f32";
  if (argc < 6 || std::atoi(argv[4]) < 1 || (precision != "f32" && precision != "bf16")) {
    std::fputs("learn_tasks_bench CONFIG.json IMAGES SIDE STEPS THREADS [f32|bf16] [PROFILE]\n",
               stderr);
    return 2;
  }
  return hone::run(argv[1], std::atoll(argv[2]), std::atoll(argv[3]), std::atoi(argv[4]),
                   std::atoi(argv[5]),
                   precision == "bf16" ? hone::Precision::bf16 : hone::Precision::f32, argc > 7);
}
