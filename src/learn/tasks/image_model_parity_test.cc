// Logits, loss, every gradient, running statistics and twenty losses of tiny models of images against Transformers and
// timm, plain and with label smoothing, mixup and averages (tests/goldens/image_models, made again by
// tools/golden_image_models.py).
#include <cstdlib>

#include "base/store/temporary_folder.h"
#include "engine/backends/backends.h"
#include "engine/backends/tested_backends_test.h"
#include "engine/ops/image_ops.h"
#include "learn/harness/budget/programs.h"
#include "learn/models/image_model.h"
#include "learn/pretrained/pretrained.h"
#include "learn/tasks/parity.h"
#include "learn/train/averages.h"

namespace hone {
namespace {

using nlohmann::json;

constexpr int64_t kImageSlots = 5;  // of a program; the last ones hold no image

// The formula of tools/golden_image_models.py.
void fill_image(int64_t row, std::span<float> image) {
  for (size_t i = 0; i < image.size(); ++i) {
    const int64_t v = (row * 131 + static_cast<int64_t>(i) + 1) * 7919 % 65521;
    image[i] = static_cast<float>(static_cast<double>(v) / 65521 * 4 - 2);
  }
}

// Images of a micro-batch are mixed with the one before them, the first with the last.
struct Recipe {
  double smoothing = 0, share = 1;  // of the image itself
};

// `soft`: the labels are shares of classes.
Program build_images(const Golden& g, const std::string& name, bool train, bool soft = false) {
  Program p(op_table(), name);
  Builder b(p);
  ModelGraph graph(b, g.config, train ? ModelGraph::Mode::train : ModelGraph::Mode::eval);
  EXPECT_TRUE(add_image_inputs(graph, kImageSlots, g.facts["image"][0], g.facts["image"][1]).ok());
  add_model_states(graph, train);
  const HeadLayer head = model_head(graph);
  if (!train) {
    p.outputs.push_back({"logits", logits_of(b, head)});
    return p;
  }
  const ValueId labels = soft ? p.add_input("shares", {DType::f32, {kImageSlots, g.config.labels}})
                              : p.add_input("labels", {DType::i32, {kImageSlots}}),
                scale = p.add_input("scale", {DType::f32, {}});
  if (soft) {
    p.outputs.push_back(
        {"loss", ops::soft_cross_entropy(b, logits_of(b, head), labels, scale).loss});
    return p;
  }
  p.outputs.push_back(
      {"loss",
       ops::linear_cross_entropy(b, head.x, head.weight, labels, scale, true, 0, head.bias).loss});
  return p;
}

size_t images_of_step(const json& train, size_t step) {
  size_t images = 0;
  for (const json& micro : train["micro"][step]) images += micro.size();
  return images;
}

class ImageModelParity : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  ImageModelParity() : g(open_golden("image_models/" + std::get<0>(GetParam()))) {}
  Session session(const UpdateOptions& update = {}, bool soft = false) const {
    std::vector<Program> programs;
    for (bool accumulate : {false, true}) {
      programs.push_back(build_images(g, accumulate ? "grad_add" : "grad_first", true, soft));
      EXPECT_TRUE(run_passes(programs.back(), train_pipeline(accumulate), {}).ok());
    }
    programs.push_back(build_images(g, "logits", false));
    EXPECT_TRUE(run_passes(programs.back(), forward_pipeline(), {}).ok());
    return make_session(g, std::move(programs), *backend, update);
  }

  // Rows that no image fills hold numbers that would change every statistic.
  size_t run(Session& s, const std::string& name, const std::vector<size_t>& rows,
             const json& labels, double scale, const Recipe& recipe = {}) const {
    const size_t k = s.program_index(name);
    const auto pixels = s.input<float>(k, "pixels");
    const size_t size = pixels.size() / kImageSlots;
    for (size_t i = 0; i < static_cast<size_t>(kImageSlots); ++i) {
      if (i < rows.size())
        fill_image(static_cast<int64_t>(rows[i]), pixels.subspan(i * size, size));
      else
        std::ranges::fill(pixels.subspan(i * size, size), 50.0F);
      if (!s.has_input(k, "labels")) continue;
      s.input<int32_t>(k, "labels")[i] = i < rows.size() ? labels[rows[i]].get<int32_t>() : -100;
    }
    if (s.has_input(k, "shares")) mix(s, k, rows, labels, recipe);
    if (s.has_input(k, "image_count"))
      s.input<int32_t>(k, "image_count")[0] = static_cast<int32_t>(rows.size());
    if (s.has_input(k, "scale")) s.input<float>(k, "scale")[0] = static_cast<float>(scale);
    s.run(k);
    return k;
  }

  // Mixes the images of the input `pixels`, and says the shares of classes.
  static void mix(Session& s, size_t k, const std::vector<size_t>& rows, const json& labels,
                  const Recipe& recipe) {
    const auto pixels = s.input<float>(k, "pixels"), shares = s.input<float>(k, "shares");
    const size_t size = pixels.size() / kImageSlots, classes = shares.size() / kImageSlots;
    const std::vector<float> plain(pixels.begin(), pixels.end());
    std::ranges::fill(shares, 0.0F);  // rows without an image do not count
    for (size_t i = 0; i < rows.size(); ++i) {
      const size_t before = (i + rows.size() - 1) % rows.size();
      for (size_t j = 0; j < size; ++j)
        pixels[i * size + j] = static_cast<float>(recipe.share) * plain[i * size + j] +
                               static_cast<float>(1 - recipe.share) * plain[before * size + j];
      const auto of_row = shares.subspan(i * classes, classes);
      std::ranges::fill(of_row,
                        static_cast<float>(recipe.smoothing / static_cast<double>(classes)));
      for (const auto& [row, share] :
           {std::pair{rows[i], recipe.share}, std::pair{rows[before], 1 - recipe.share}})
        of_row[labels[row].get<size_t>()] += static_cast<float>((1 - recipe.smoothing) * share);
    }
  }

  const std::unique_ptr<Backend> backend =
      open_backend(std::get<1>(GetParam()), {.threads = 2}).value();
  Golden g;
};

TEST_P(ImageModelParity, LogitsLossGradientsAndRunningStatistics) {
  const json& labels = g.facts["labels"];
  std::vector<size_t> all(labels.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  Session s = session();
  const auto logits = s.output<float>(run(s, "logits", all, labels, 1), "logits");
  const std::vector<float> want = tensor(*g.expected, "logits");
  EXPECT_LT(departure(logits.first(want.size()), want), 1e-4);

  const size_t k = run(s, "grad_first", all, labels, 1.0 / static_cast<double>(all.size()));
  EXPECT_NEAR(s.output<float>(k, "loss")[0], g.facts["loss"].get<double>(), 1e-4);
  expect_gradients(s, g);
  for (const ParamSpec& p : family_of(g.config).params(g.config)) {
    if (!p.moves) continue;
    EXPECT_LT(departure(s.state_values<float>(p.name), tensor(*g.expected, "after." + p.name)),
              1e-4)
        << p.name;
  }
}

TEST_P(ImageModelParity, TwentyLosses) {
  const json& t = g.facts["train"];
  Session s = session(update_options(train_settings(t["settings"])).value());
  expect_losses(s, t, [&](size_t step, bool first, const std::vector<size_t>& micro) {
    const size_t k = run(s, first ? "grad_first" : "grad_add", micro, t["labels"],
                         1 / static_cast<double>(images_of_step(t, step)));
    return static_cast<double>(s.output<float>(k, "loss")[0]);
  });
}

// With label smoothing, mixup and averages, which evaluate in place of the weights.
TEST_P(ImageModelParity, TwentyLossesOfARecipe) {
  const json& recipe = g.facts["recipe"];
  json t = g.facts["train"];
  for (const char* list : {"losses", "grad_norms"}) t[list] = recipe[list];
  TrainSettings settings = train_settings(t["settings"]);
  settings.ema_decay = recipe["ema_decay"];
  UpdateOptions update = update_options(settings).value();
  update.statistics = moved_statistics(g.config);
  Session s = session(update, true);
  size_t micro_batch = 0;
  expect_losses(s, t, [&](size_t step, bool first, const std::vector<size_t>& micro) {
    micro_batch = first ? 0 : micro_batch + 1;
    const size_t k = run(s, first ? "grad_first" : "grad_add", micro, t["labels"],
                         1 / static_cast<double>(images_of_step(t, step)),
                         {recipe["smoothing"], recipe["mixes"][step][micro_batch]});
    return static_cast<double>(s.output<float>(k, "loss")[0]);
  });
  std::vector<std::string> weights;
  for (const ParamSpec& p : family_of(g.config).params(g.config)) weights.push_back(p.name);
  WeightAverages averages;
  averages.attach(s, weights);
  ASSERT_TRUE(averages.any());
  ASSERT_TRUE(averages.exchange().ok());
  const auto logits = s.output<float>(run(s, "logits", {0, 1, 2, 3}, t["labels"], 1), "logits");
  const auto want = recipe["ema_logits"].get<std::vector<float>>();
  // AdamW makes whole steps of the rounding that is the gradient of this bias (moves_all_scores), which running
  // statistics follow slowly.
  const bool rounds =
      std::ranges::count(weights, "resnet.embedder.embedder.normalization.bias") > 0;
  EXPECT_LT(departure(logits.first(want.size()), want), rounds ? 2e-3 : 1e-4);
}

// With --bf16 and --fp16, as a CPU and a GPU keep values: the loss stays near that of f32.
TEST_P(ImageModelParity, LossInSixteenBits) {
  const bool on_cpu = std::get<1>(GetParam()) == "cpu";
  const json& labels = g.facts["labels"];
  for (const auto& [precision, stored] :
       {std::pair{Precision::bf16, DType::bf16}, std::pair{Precision::f16, DType::f16}})
    for (const bool narrow : {false, true}) {
      if (!narrow && !on_cpu) continue;  // a GPU keeps values in 16 bits
      TrainPasses how{.precision = precision, .stored = stored, .gradients = stored};
      how.keeps_narrow = narrow;
      std::vector<Program> rounded;
      rounded.push_back(build_images(g, "grad_first", true));
      ASSERT_TRUE(run_passes(rounded.back(), train_pipeline(false, how), {}).ok());
      Result<Session> session = Session::compile(std::move(rounded), *backend);
      ASSERT_TRUE(session.ok()) << session.error().text();
      Session s = std::move(*session);
      ASSERT_TRUE(s.allocate().ok());
      for (const StateSlot& slot : s.plan().states)
        if (slot.role == Role::param) {
          ASSERT_TRUE(load_state(s, slot.name, *g.weights, slot.name).ok()) << slot.name;
        }
      const size_t k = run(s, "grad_first", {0, 1, 2, 3}, labels, 0.25);
      const double want = g.facts["loss"];
      EXPECT_NEAR(s.output<float>(k, "loss")[0], want, want / 16) << static_cast<int>(stored);
    }
}

// Norms do not decay, as in timm; all else as Transformers' Trainer does it.
TEST_P(ImageModelParity, Decay) {
  std::set<std::string> decayed;
  for (const ParamSpec& p : family_of(g.config).params(g.config))
    if (p.decay) decayed.insert(p.name);
  EXPECT_EQ(decayed, g.facts["train"]["decayed"].get<std::set<std::string>>());
}

// The rates of timm's param_groups_layer_decay.
TEST_P(ImageModelParity, LayerDecay) {
  if (!g.facts.contains("layer_scales") || std::get<1>(GetParam()) != "cpu") return;
  ModelConfig config = g.config;
  config.layer_decay = g.facts["layer_decay"];
  std::map<std::string, double> rates;
  for (const UpdateWeight& w : update_weights(config)) rates[w.name] = w.rate;
  const auto want = g.facts["layer_scales"].get<std::map<std::string, double>>();
  ASSERT_EQ(rates.size(), want.size());
  for (const auto& [name, rate] : want) EXPECT_NEAR(rates.at(name), rate, 1e-12) << name;
}

// A folder that is opened and saved has the tensors under the names that were read, and the keys of its
// config.json.
TEST_P(ImageModelParity, FoldersAreSavedAsTheyWereRead) {
  if (std::get<1>(GetParam()) != "cpu") return;
  const std::string from =
      std::string(HONE_SOURCE_DIR) + "/tests/goldens/image_models/" + std::get<0>(GetParam());
  const TemporaryFolder to;
  const Pretrained model = open_pretrained(from).value();
  ASSERT_TRUE(save_pretrained(to.path, *model.weights, model).ok());
  const auto saved = open_weights(to.path + "/model.safetensors").value();
  ASSERT_EQ(saved->tensors().size(), g.weights->tensors().size());
  for (const TensorInfo& t : g.weights->tensors()) {
    const TensorInfo* same = saved->find(t.name);
    ASSERT_NE(same, nullptr) << t.name;
    EXPECT_EQ(same->type, t.type) << t.name;
    EXPECT_EQ(tensor(*saved, t.name), tensor(*g.weights, t.name)) << t.name;
  }
  const json before = json::parse(std::ifstream(from + "/config.json")),
             after = json::parse(std::ifstream(to.path + "/config.json"));
  EXPECT_EQ(after, before);
}

// A layer that merges or halves belongs to the stage after it, under Transformers' names too; ConvNeXt's last norm is the head's.
TEST(ImageModels, GroupsOfLayersUnderTransformersNames) {
  const auto depths = [](const std::string& golden) {
    std::map<std::string, int64_t> all;
    const ModelConfig config = open_golden("image_models/" + golden).config;
    for (const ParamSpec& p : family_of(config).params(config)) all[p.name] = p.depth;
    return all;
  };
  const auto swin = depths("swin"), convnext = depths("convnext"), vit = depths("vit");
  const std::string layers = "swin.encoder.layers.";
  EXPECT_EQ(swin.at("swin.embeddings.norm.weight"), 0);
  EXPECT_EQ(swin.at(layers + "0.blocks.1.layernorm_before.weight"), 2);
  EXPECT_EQ(swin.at(layers + "0.downsample.norm.weight"), 3);
  EXPECT_EQ(swin.at(layers + "1.blocks.0.layernorm_before.weight"), 3);
  EXPECT_EQ(swin.at("swin.layernorm.weight"), 5);
  EXPECT_EQ(swin.at("classifier.weight"), 6);
  const std::string stages = "convnext.encoder.stages.";
  EXPECT_EQ(convnext.at("convnext.embeddings.layernorm.weight"), 0);
  EXPECT_EQ(convnext.at(stages + "0.layers.0.dwconv.weight"), 1);
  EXPECT_EQ(convnext.at(stages + "1.downsampling_layer.0.weight"), 2);
  EXPECT_EQ(convnext.at(stages + "1.layers.1.dwconv.weight"), 3);
  EXPECT_EQ(convnext.at("convnext.layernorm.weight"), 4);
  EXPECT_EQ(convnext.at("classifier.bias"), 4);
  EXPECT_EQ(vit.at("vit.layernorm.weight"), 2);
  EXPECT_EQ(vit.at("classifier.bias"), 3);
}

INSTANTIATE_TEST_SUITE_P(All, ImageModelParity,
                         testing::ValuesIn(cases_on_backends(goldens_with("image_models", "image"),
                                                             {"reference", "cpu"}, {"vit"})),
                         [](const auto& info) { return name_of_case(info.param); });

// A ResNet of ImageNet's photographs in half the usual width, under torchvision's names, beside Transformers' config.json.
// The logits are those of Transformers with the weights under its own names (the file comes from a program that pads
// the maxima at the bottom and right alone, so expected.json has others).
TEST(ImageModels, APretrainedThinResnetUnderTorchvisionsNames) {
  const char* set = std::getenv("HONE_DATA");
  const std::string folder =
      (set ? std::string(set) : std::string(HONE_SOURCE_DIR) + "/../shared/data") +
      "/w-resnet50thin-opennsfw";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder << " in HONE_DATA";
  const Pretrained model = open_pretrained(folder).value();
  EXPECT_EQ(model.config.layout, "timm");
  Program p(op_table(), "logits");
  Builder b(p);
  ModelGraph graph(b, model.config, ModelGraph::Mode::eval);
  ASSERT_TRUE(add_image_inputs(graph, 1, 224, 224).ok());
  add_model_states(graph, false);
  p.outputs.push_back({"logits", logits_of(b, model_head(graph))});
  ASSERT_TRUE(run_passes(p, forward_pipeline(), {}).ok());
  const auto backend = open_backend("cpu", {.threads = 2}).value();
  std::vector<Program> programs;
  programs.push_back(std::move(p));
  Session s = Session::compile(std::move(programs), *backend).value();
  ASSERT_TRUE(s.allocate().ok());
  std::vector<std::string> unused;
  const Status loaded = load_weights(s, model, &unused);
  ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  EXPECT_TRUE(unused.empty());
  const auto pixels = s.input<float>(0, "pixels");
  for (size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = static_cast<float>((i * 7919 + 13) % 256) - 117;
  s.run(0);
  const auto logits = s.output<float>(0, "logits");
  EXPECT_NEAR(logits[0], 6.798883, 1e-3);
  EXPECT_NEAR(logits[1], -8.524752, 1e-3);
}

}  // namespace
}  // namespace hone
