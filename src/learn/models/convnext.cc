// ConvNeXt (Liu et al. 2022, arXiv 2201.03545): convolutions by channel with large windows, then a norm and an MLP at
// each place, scaled by channel. Files have the names of Transformers or those of timm or torchvision.
#include "learn/models/activations.h"
#include "learn/models/errors.h"
#include "learn/models/image_layers.h"
#include "learn/models/timm_config.h"
#include "learn/models/torchvision.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualConvnext =
    R"({"num_channels": 3, "patch_size": 4, "num_stages": 4, "hidden_sizes": [96, 192, 384, 768],
    "depths": [3, 3, 9, 3], "hidden_act": "gelu", "initializer_range": 0.02,
    "layer_norm_eps": 1e-12, "layer_scale_init_value": 1e-06, "drop_path_rate": 0.0,
    "image_size": 224})";

constexpr double kNormEps = 1e-6;  // but the last norm's, which config.json says
constexpr int64_t kWindow = 7, kWiden = 4;

struct ConvnextConfig {
  std::vector<int64_t> sizes, depths;
  int64_t patch_h = 4, patch_w = 4;
};
Result<ConvnextConfig> convnext_config(const ModelConfig& c) {
  ConvnextConfig r;
  r.sizes = HONE_TRY(numbers_of_key(c, "hidden_sizes", {96, 192, 384, 768}));
  r.depths = HONE_TRY(numbers_of_key(c, "depths", {3, 3, 9, 3}));
  std::tie(r.patch_h, r.patch_w) = HONE_TRY(size_of_key(c, "patch_size", 4));
  return r;
}

Status read_convnext_config(ModelConfig& c) {
  const ConvnextConfig r = HONE_TRY(convnext_config(c));
  HONE_TRY(check_stages(c, r.sizes, r.depths));
  const auto stages = static_cast<int64_t>(r.sizes.size());
  if (const int64_t named = HONE_TRY(c.integer("num_stages", stages)); named != stages)
    return Error(err::kBadConfig,
                 fmt::format("config.json: num_stages is {}, there are {} hidden_sizes", named,
                             r.sizes.size()));
  c.hidden = r.sizes.back();
  c.heads = c.kv_heads = 1;
  c.head_dim = c.hidden;
  c.any_image_size = true;
  HONE_TRY(check_activation(c, "hidden_act", "gelu"));
  HONE_TRY(read_image_size(c, "image_size", 224));
  c.least_image = std::max(r.patch_h, r.patch_w) << (stages - 1);
  // Each stage after the first halves rows and columns.
  const int64_t least = int64_t{1} << (stages - 1);
  HONE_TRY(check_range("the height of patches", r.patch_h, 1, c.image_height / least));
  return check_range("the width of patches", r.patch_w, 1, c.image_width / least);
}

// Names of weights; those of a block come after the block's.
struct ConvnextNames {
  std::string stem, stem_norm, stages, last, classes;
  const char *halving = "downsampling_layer.", *blocks = "layers.", *by_channel = "dwconv",
             *norm = "layernorm", *up = "pwconv1", *down = "pwconv2",
             *scale = "layer_scale_parameter";
  bool flat =
      false;  // one list has the stem, a stage, what halves the next one's places, that stage, ...

  std::string stage(size_t i) const { return fmt::format("{}{}.", stages, flat ? 2 * i + 1 : i); }
  // The place of what comes before stage i > 0.
  std::string halving_of(size_t i) const {
    return flat ? fmt::format("{}{}.", stages, 2 * i) : stage(i) + halving;
  }
};
ConvnextNames convnext_names(const ModelConfig& c) {
  const std::string at = timm_prefix(c), own = "convnext.";
  if (is_torchvision_layout(c))
    return {.stem = "features.0.0",
            .stem_norm = "features.0.1",
            .stages = "features.",
            .last = "classifier.0",
            .classes = "classifier.2",
            .blocks = "",
            .by_channel = "block.0",
            .norm = "block.2",
            .up = "block.3",
            .down = "block.5",
            .scale = "layer_scale",
            .flat = true};
  if (!is_timm_layout(c))
    return {.stem = own + "embeddings.patch_embeddings",
            .stem_norm = own + "embeddings.layernorm",
            .stages = own + "encoder.stages.",
            .last = own + "layernorm",
            .classes = "classifier"};
  return {.stem = at + "stem.0",
          .stem_norm = at + "stem.1",
          .stages = at + "stages.",
          .last = at + "head.norm",
          .classes = at + "head.fc",
          .halving = "downsample.",
          .blocks = "blocks.",
          .by_channel = "conv_dw",
          .norm = "norm",
          .up = "mlp.fc1",
          .down = "mlp.fc2",
          .scale = "gamma"};
}
std::string layout_of_convnext(const std::function<bool(const std::string&)>& has) {
  if (has("features.0.0.weight") && has("features.1.0.block.0.weight")) return kTorchvisionLayout;
  return timm_layout_of(has, {"stem.0.weight", "stages.0.blocks.0.conv_dw.weight"});
}

ValueId norm_of_pixels(ModelGraph& g, const std::string& at, ValueId x, double eps) {
  const Shape shape = g.b.type(x).shape;
  return ops::reshape(g.b, g.layer_norm(at, rows_of_places(g.b, x), eps), shape);
}

// One block under `at`; x [B,H,W,C].
ValueId convnext_layer(ModelGraph& g, const ConvnextNames& names, const std::string& at, ValueId x,
                       double drop) {
  Builder& b = g.b;
  const ModelConfig& c = g.config;
  const Shape shape = b.type(x).shape;
  const int64_t channels = shape[3];
  ConvLayer by_channel = square_conv(kWindow, 1, channels, channels);
  by_channel.bias = true;
  by_channel.std = g.init_std;
  ValueId y = conv2d(g, at + names.by_channel, x, channels, by_channel);
  y = rows_of_places(b, norm_of_pixels(g, at + names.norm, y, kNormEps));
  y = activate(b, g.linear(at + names.up, y, kWiden * channels), c.text("hidden_act", "gelu"));
  y = g.linear(at + names.down, y, channels);
  if (const double scale = c.real("layer_scale_init_value", 1e-6); scale > 0)
    y = scaled_channels(g, at + names.scale, y, scale);
  return ops::add(b, x, ops::reshape(b, drop_path(g, y, drop), shape));
}

// -> [B H' W', C]
ValueId convnext_body(ModelGraph& g) {
  Builder& b = g.b;
  const ModelConfig& c = g.config;
  const ConvnextConfig r = *convnext_config(c);
  const ConvnextNames names = convnext_names(c);
  ValueId x = kNoValue;
  {
    Builder::Scope s(b, "embeddings");
    x = conv2d(g, names.stem, g.pixels, r.sizes[0], patch_conv(r.patch_h, r.patch_w));
    x = norm_of_pixels(g, names.stem_norm, x, kNormEps);
  }
  const double last = static_cast<double>(std::max<int64_t>(1, c.layers - 1));
  int64_t layer = 0;
  for (size_t stage = 0; stage < r.sizes.size(); ++stage) {
    const std::string at = names.stage(stage);
    ++g.depth;  // a stage's first block and what is before it are one group
    if (stage > 0) {
      Builder::Scope s(b, fmt::format("stages.{}.downsampling_layer", stage));
      const std::string halving = names.halving_of(stage);
      x = norm_of_pixels(g, halving + "0", x, kNormEps);
      x = conv2d(g, halving + "1", x, r.sizes[stage], patch_conv(2, 2));
    }
    for (int64_t i = 0; i < r.depths[stage]; ++i, ++layer) {
      Builder::Scope s(b, fmt::format("stages.{}.layers.{}", stage, i));
      if (i > 0) ++g.depth;
      const double drop = c.real("drop_path_rate", 0) * static_cast<double>(layer) / last;
      x = convnext_layer(g, names, fmt::format("{}{}{}.", at, names.blocks, i), x, drop);
    }
  }
  return rows_of_places(b, x);
}

HeadLayer convnext_head(ModelGraph& g, ValueId hidden) {
  const ValueId pooled = mean_of_places(g, hidden);
  ++g.depth;
  const ConvnextNames names = convnext_names(g.config);
  const ValueId x = g.layer_norm(names.last, pooled, g.config.real("layer_norm_eps", 1e-12));
  g.of_head = true;
  return image_classifier(g, names.classes, x);
}

}  // namespace

Family family_convnext() {
  return {.name = "convnext",
          .model_types = {{"convnext", "ConvNext", kUsualConvnext}},
          .heads = {{Head::image_classification, "ForImageClassification"}},
          .read_config = read_convnext_config,
          .reads_text = false,
          .body = convnext_body,
          .head = convnext_head,
          .dropouts = {"drop_path_rate"},
          .body_prefix = "convnext.",
          .layout = layout_of_convnext};
}

}  // namespace hone
