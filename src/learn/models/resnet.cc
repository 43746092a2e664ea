// ResNet (He et al. 2015, arXiv 1512.03385), v1.5: the stride of a stage is in the 3x3 convolution of its first
// block, or with downsample_in_bottleneck in the 1x1 before it. Files have the names of Transformers or those of
// torchvision and timm.
#include "learn/models/activations.h"
#include "learn/models/errors.h"
#include "learn/models/image_layers.h"
#include "learn/models/timm_config.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualResnet =
    R"({"num_channels": 3, "embedding_size": 64, "hidden_sizes": [256, 512, 1024, 2048],
    "depths": [3, 4, 6, 3], "layer_type": "bottleneck", "hidden_act": "relu",
    "downsample_in_first_stage": false, "downsample_in_bottleneck": false})";

constexpr int64_t kReduction = 4;     // of a bottleneck's channels
constexpr int64_t kUsualImage = 224;  // pixels; config.json does not say it

struct ResnetConfig {
  std::vector<int64_t> sizes, depths;
  bool bottleneck = true, early = false, first = false;
  int64_t stem = 64;
  std::string act = "relu";
};
Result<ResnetConfig> resnet_config(const ModelConfig& c) {
  ResnetConfig r;
  r.sizes = HONE_TRY(numbers_of_key(c, "hidden_sizes", {256, 512, 1024, 2048}));
  r.depths = HONE_TRY(numbers_of_key(c, "depths", {3, 4, 6, 3}));
  const std::string type = c.text("layer_type", "bottleneck");
  if (type != "bottleneck" && type != "basic")
    return Error(err::kConfigNotOffered,
                 fmt::format("config.json: layer_type '{}' is not supported", type))
        .todo("the types are bottleneck and basic");
  r.bottleneck = type == "bottleneck";
  r.early = c.flag("downsample_in_bottleneck", false);
  r.first = c.flag("downsample_in_first_stage", false);
  r.stem = HONE_TRY(c.integer("embedding_size", 64));
  HONE_TRY(check_range("'embedding_size'", r.stem, 1, kLargestSize));
  HONE_TRY(check_activation(c, "hidden_act", "relu"));
  r.act = c.text("hidden_act", "relu");
  if (r.bottleneck)
    for (const int64_t size : r.sizes)
      HONE_TRY(
          check_range("a bottleneck's number of channels", size / kReduction, 1, kLargestSize));
  return r;
}

Status read_resnet_config(ModelConfig& c) {
  const ResnetConfig r = HONE_TRY(resnet_config(c));
  c.hidden = r.sizes.back();
  HONE_TRY(check_stages(c, r.sizes, r.depths));
  c.heads = c.kv_heads = 1;
  c.head_dim = c.hidden;
  c.any_image_size = true;
  return read_image_size(c, "image_size", kUsualImage);
}

// torchvision's names are timm's.
std::string layout_of_resnet(const std::function<bool(const std::string&)>& has) {
  return timm_layout_of(has, {"conv1.weight", "bn1.weight"});
}

// Names of a convolution and of its norm.
struct NormedConv {
  std::string conv, norm;
};
NormedConv stem_names(const ModelConfig& c) {
  if (is_timm_layout(c)) return {timm_prefix(c) + "conv1", timm_prefix(c) + "bn1"};
  const std::string at = "resnet.embedder.embedder.";
  return {at + "convolution", at + "normalization"};
}
// `which`: the number of the convolution in its block; none: the shortcut's.
NormedConv names_in_block(const ModelConfig& c, size_t stage, int64_t block,
                          std::optional<int> which) {
  if (is_timm_layout(c)) {
    const std::string at = fmt::format("{}layer{}.{}.", timm_prefix(c), stage + 1, block);
    if (!which) return {at + "downsample.0", at + "downsample.1"};
    return {fmt::format("{}conv{}", at, *which + 1), fmt::format("{}bn{}", at, *which + 1)};
  }
  std::string at = fmt::format("resnet.encoder.stages.{}.layers.{}.", stage, block);
  at += which ? fmt::format("layer.{}.", *which) : "shortcut.";
  return {at + "convolution", at + "normalization"};
}

// x [B,H,W,C]
ValueId normed_conv(ModelGraph& g, const NormedConv& at, ValueId x, int64_t out, int64_t kernel,
                    int64_t stride, const BatchNormLayer& norm) {
  x = conv2d(g, at.conv, x, out, square_conv(kernel, stride, out));
  return batch_norm(g, at.norm, x, norm);
}

// A residual block.
ValueId block(ModelGraph& g, const ResnetConfig& r, size_t stage, int64_t index, ValueId x,
              int64_t out, int64_t stride) {
  const auto at = [&](std::optional<int> which) {
    return names_in_block(g.config, stage, index, which);
  };
  ValueId residual = x;
  if (g.b.type(x).shape[3] != out || stride != 1) {
    Builder::Scope s(g.b, "shortcut");
    residual = normed_conv(g, at({}), x, out, 1, stride, {});
  }
  const BatchNormLayer acts{.act = r.act}, last{.residual = residual, .act = r.act};
  if (!r.bottleneck) {
    x = normed_conv(g, at(0), x, out, 3, stride, acts);
    return normed_conv(g, at(1), x, out, 3, 1, last);
  }
  const int64_t inner = out / kReduction;
  x = normed_conv(g, at(0), x, inner, 1, r.early ? stride : 1, acts);
  x = normed_conv(g, at(1), x, inner, 3, r.early ? 1 : stride, acts);
  return normed_conv(g, at(2), x, out, 1, 1, last);
}

// -> [B H' W', C]
ValueId resnet_body(ModelGraph& g) {
  Builder& b = g.b;
  const ResnetConfig r = *resnet_config(g.config);
  ValueId x = kNoValue;
  {
    Builder::Scope s(b, "embedder");
    x = normed_conv(g, stem_names(g.config), g.pixels, r.stem, 7, 2, {.act = r.act});
    x = ops::max_pool2d(b, x, {3, 3}, {.stride = {2, 2}, .padding = {1, 1, 1, 1}});
  }
  for (size_t stage = 0; stage < r.sizes.size(); ++stage)
    for (int64_t i = 0; i < r.depths[stage]; ++i) {
      Builder::Scope s(b, fmt::format("stages.{}.layers.{}", stage, i));
      ++g.depth;
      const int64_t stride = i == 0 && (stage > 0 || r.first) ? 2 : 1;
      x = block(g, r, stage, i, x, r.sizes[stage], stride);
    }
  return rows_of_places(b, x);
}

HeadLayer resnet_head(ModelGraph& g, ValueId hidden) {
  g.of_head = true;
  ++g.depth;
  const int64_t channels = g.b.type(hidden).shape[1];
  const ValueId pooled = mean_of_places(g, hidden);
  // torch's nn.Linear: kaiming_uniform_ with a = sqrt(5), and the same bound for the bias.
  const double bound = 1 / std::sqrt(static_cast<double>(channels));
  const std::string at = is_timm_layout(g.config) ? timm_prefix(g.config) + "fc" : "classifier.1";
  ParamSpec weight{at + ".weight", {g.config.labels, channels}, ParamSpec::Init::uniform};
  weight.std = bound;
  ParamSpec bias{at + ".bias", {g.config.labels}, ParamSpec::Init::uniform, bound, false};
  const ValueId w = g.weight(std::move(weight));
  return {pooled, w, g.weight(std::move(bias))};
}

}  // namespace

Family family_resnet() {
  return {.name = "resnet",
          .model_types = {{"resnet", "ResNet", kUsualResnet}},
          .heads = {{Head::image_classification, "ForImageClassification"}},
          .read_config = read_resnet_config,
          .reads_text = false,
          .body = resnet_body,
          .head = resnet_head,
          .body_prefix = "resnet.",
          .layout = layout_of_resnet};
}

}  // namespace hone
