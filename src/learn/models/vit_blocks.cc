#include "learn/models/vit_blocks.h"

#include "learn/models/activations.h"
#include "learn/models/errors.h"
#include "learn/models/image_layers.h"
#include "learn/models/image_model.h"
#include "learn/models/timm_config.h"
#include "learn/models/torchvision.h"

namespace hone {
namespace {

constexpr const char* kLayerScale = "layerscale_value";  // of DINOv2, and of timm's models like it

std::string act_of(const ModelConfig& c) { return c.text("hidden_act", "gelu"); }

struct Patches {
  int64_t height, width;  // of a patch
  int64_t rows, columns;  // patches of an image
  int64_t count() const { return rows * columns; }
};
Result<Patches> patches_of(const ModelConfig& c) {
  const auto [height, width] = HONE_TRY(size_of_key(c, "patch_size", 16));
  HONE_TRY(check_range("the height of patches", height, 1, c.image_height));
  HONE_TRY(check_range("the width of patches", width, 1, c.image_width));
  return Patches{height, width, c.image_height / height, c.image_width / width};
}

// Names of weights; those of a layer come after the layer's.
struct VitNames {
  std::string of_class, places, patches, layers, last;
  const char *norm1 = "layernorm_before", *norm2 = "layernorm_after", *up = "intermediate.dense",
             *down = "output.dense", *attended = "attention.output.dense";
  const char* fused = nullptr;  // queries, keys and values together; null: three layers
  const char* joint = ".";      // LinearLayer::joint of `fused`
  std::string classes = "classifier";
  const char *scale1 = nullptr, *scale2 = nullptr;  // of the sublayers
};
VitNames names_of(const ModelConfig& c, const VitStyle& style) {
  const std::string prefix = style.prefix;
  if (is_torchvision_layout(c)) {
    const bool first = c.layout == kFirstTorchvisionLayout;
    return {.of_class = "class_token",
            .places = "encoder.pos_embedding",
            .patches = "conv_proj",
            .layers = "encoder.layers.encoder_layer_",
            .last = "encoder.ln",
            .norm1 = "ln_1",
            .norm2 = "ln_2",
            .up = first ? "mlp.linear_1" : "mlp.0",
            .down = first ? "mlp.linear_2" : "mlp.3",
            .attended = "self_attention.out_proj",
            .fused = "self_attention.in_proj",
            .joint = "_",
            .classes = "heads.head"};
  }
  if (!is_timm_layout(c)) {
    VitNames names{.of_class = prefix + "embeddings.cls_token",
                   .places = prefix + "embeddings.position_embeddings",
                   .patches = prefix + "embeddings.patch_embeddings.projection",
                   .layers = prefix + "encoder.layer.",
                   .last = prefix + "layernorm"};
    if (!style.dino) return names;
    names.norm1 = "norm1", names.norm2 = "norm2", names.up = "mlp.fc1", names.down = "mlp.fc2";
    names.scale1 = "layer_scale1.lambda1", names.scale2 = "layer_scale2.lambda1";
    return names;
  }
  const std::string at = timm_prefix(c);
  VitNames names{.of_class = at + "cls_token",
                 .places = at + "pos_embed",
                 .patches = at + "patch_embed.proj",
                 .layers = at + "blocks.",
                 .last = at + "norm",
                 .norm1 = "norm1",
                 .norm2 = "norm2",
                 .up = "mlp.fc1",
                 .down = "mlp.fc2",
                 .attended = "attn.proj",
                 .fused = "attn.qkv",
                 .classes = at + "head"};
  if (c.config.contains(kLayerScale)) names.scale1 = "ls1.gamma", names.scale2 = "ls2.gamma";
  return names;
}
std::string layout_of_vit(const std::function<bool(const std::string&)>& has) {
  const std::string block = "encoder.layers.encoder_layer_0.";
  if (has(block + "self_attention.in_proj_weight"))
    return has(block + "mlp.linear_1.weight") ? kFirstTorchvisionLayout : kTorchvisionLayout;
  return timm_layout_of(has, {"blocks.0.attn.qkv.weight"});
}

// Tables of one row or some, [1,rows,C]. timm does not decay them.
ValueId tokens_table(ModelGraph& g, const std::string& name, int64_t rows) {
  ParamSpec spec{name, {1, rows, g.config.hidden}};
  spec.std = g.init_std;
  spec.decay = !is_timm_layout(g.config);
  return g.weight(std::move(spec));
}

// Weights of bicubic interpolation from `in` places to `out`, f32[out,in], as torch's interpolate without aligned
// corners makes them: Keys, "Cubic convolution interpolation for digital image processing", 1981, with a = -0.75.
ValueId bicubic(Builder& b, int64_t out, int64_t in) {
  const Type of_places{DType::i32, {out, in}};
  const auto real = [&](double v) { return ops::constant(b, v, {DType::f32, {}}); };
  const auto whole = [&](int64_t v) {
    return ops::constant(b, static_cast<double>(v), {DType::i32, {}});
  };
  constexpr double kA = -0.75;
  constexpr int64_t kAbove =
      8;  // makes places before the first one positive, which casts round down
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  const ValueId to = ops::cast(b, ops::iota(b, of_places, 0), DType::f32),
                from = ops::iota(b, of_places, 1);
  const ValueId at = ops::add(b, ops::mul(b, to, real(scale)), real(0.5 * scale - 0.5));
  const ValueId first =
      ops::sub(b, ops::cast(b, ops::add(b, at, real(kAbove)), DType::i32), whole(kAbove));
  const ValueId t = ops::sub(b, at, ops::cast(b, first, DType::f32));  // 0 to 1
  ValueId all = kNoValue;
  for (int64_t k = -1; k <= 2; ++k) {
    // |t - k|, which is in a piece of its own for each k
    const ValueId x = k <= 0 ? ops::sub(b, t, real(static_cast<double>(k)))
                             : ops::sub(b, real(static_cast<double>(k)), t);
    const bool near = k == 0 || k == 1;
    const ValueId inner =
        near ? ops::add(b, ops::mul(b, x, real(kA + 2)), real(-(kA + 3)))
             : ops::add(b, ops::mul(b, ops::add(b, ops::mul(b, x, real(kA)), real(-5 * kA)), x),
                        real(8 * kA));
    const ValueId w = near ? ops::add(b, ops::mul(b, ops::mul(b, inner, x), x), real(1))
                           : ops::add(b, ops::mul(b, inner, x), real(-4 * kA));
    const ValueId place =
        ops::minimum(b, ops::maximum(b, ops::add(b, first, whole(k)), whole(0)), whole(in - 1));
    const ValueId part = ops::select(b, ops::compare(b, place, from, "eq"), w, real(0));
    all = all == kNoValue ? part : ops::add(b, all, part);
  }
  return all;
}

// The table [1,first+rows*columns,C] of positions for images of other numbers of patches.
ValueId interpolated(ModelGraph& g, ValueId table, int64_t first, const Patches& from,
                     const Patches& to) {
  if (from.rows == to.rows && from.columns == to.columns) return table;
  Builder& b = g.b;
  const int64_t c = g.config.hidden;
  const ValueId of_class = ops::slice(b, table, 1, 0, first),
                patches = ops::slice(b, table, 1, first, first + from.count());
  const ValueId rows = ops::matmul(b, bicubic(b, to.rows, from.rows),
                                   ops::reshape(b, patches, {from.rows, from.columns * c}));
  const ValueId across = ops::broadcast(b, bicubic(b, to.columns, from.columns),
                                        {to.rows, to.columns, from.columns}, {1, 2});
  const ValueId both = ops::matmul(b, across, ops::reshape(b, rows, {to.rows, from.columns, c}));
  return ops::concat(b, {of_class, ops::reshape(b, both, {1, to.count(), c})}, 1);
}

// [B*N,C]; sets the inputs of tokens.
ValueId embeddings(ModelGraph& g, const VitStyle& style, const VitNames& names) {
  Builder& b = g.b;
  Builder::Scope s(b, "embeddings");
  const ModelConfig& c = g.config;
  const int64_t images = b.type(g.pixels).shape[0];
  const Patches own = *patches_of(c);  // of the images that the model was made for
  const Shape pixels = b.type(g.pixels).shape;
  const Patches p{own.height, own.width, pixels[1] / own.height, pixels[2] / own.width};
  const ValueId of_class = tokens_table(g, names.of_class, 1);
  const ValueId distilled =
      style.distils
          ? tokens_table(g, std::string(style.prefix) + "embeddings.distillation_token", 1)
          : kNoValue;
  const int64_t more = style.distils ? 2 : 1, tokens = p.count() + more;
  ValueId where = tokens_table(g, names.places, own.count() + more);
  where = interpolated(g, where, more, own, p);
  const ValueId patches =
      conv2d(g, names.patches, g.pixels, c.hidden, patch_conv(p.height, p.width));
  Values parts{for_images(g, of_class)};
  if (style.distils) parts.push_back(for_images(g, distilled));
  parts.push_back(ops::reshape(b, patches, {images, p.count(), c.hidden}));
  const ValueId x = ops::add(b, ops::concat(b, parts, 1), for_images(g, where));
  make_sequences(g, tokens);
  return g.dropout(ops::reshape(b, x, {images * tokens, c.hidden}),
                   c.real("hidden_dropout_prob", 0));
}

// One layer under construction; x [T,C].
struct VitLayer {
  ModelGraph& g;
  const VitNames& names;
  int64_t index;
  std::string at;  // "vit.encoder.layer.3."
  bool few;        // the head looks at the first tokens alone
  bool dino;
  Builder& b = g.b;
  const ModelConfig& c = g.config;
  double eps = c.real("layer_norm_eps", 1e-12), drop = c.real("hidden_dropout_prob", 0);
  LinearLayer rows = {.rows = few ? LinearLayer::Rows::sequences : LinearLayer::Rows::tokens};

  ValueId drop_onto(ValueId y, ValueId residual, const char* scale) const {
    if (scale != nullptr) y = scaled_channels(g, at + scale, y, c.real(kLayerScale, 1));
    if (dino) return ops::add(b, drop_path(g, y, c.real("drop_path_rate", 0)), residual);
    return few ? ops::add(b, g.dropout_of_sequences(y, drop), residual)
               : g.dropout(y, drop, residual);
  }

  ValueId run(ValueId x) const {
    {
      Builder::Scope s(b, "attention");
      const ValueId n = g.layer_norm(at + names.norm1, x, eps);
      const LinearLayer own{.bias = c.flag("qkv_bias", true), .joint = names.joint};
      ValueId q = kNoValue, k = kNoValue, v = kNoValue;
      if (names.fused != nullptr) {
        q = g.linear(at + names.fused, n, 3 * c.hidden, own);  // all three
      } else {
        q = g.linear(at + "attention.attention.query", n, c.hidden, own);
        k = g.linear(at + "attention.attention.key", n, c.hidden, own);
        v = g.linear(at + "attention.attention.value", n, c.hidden, own);
      }
      ValueId a = g.self_attention(index, q, k, v, 1 / std::sqrt(static_cast<double>(c.head_dim)),
                                   c.real("attention_probs_dropout_prob", 0), 0, false);
      if (few) {
        a = g.first_tokens(a);  // [B,C]
        x = g.first_tokens(x);
      }
      x = drop_onto(g.linear(at + names.attended, a, c.hidden, rows), x, names.scale1);
    }
    Builder::Scope s(b, "mlp");
    const ValueId n = g.layer_norm(at + names.norm2, x, eps);
    const double ratio = c.real("mlp_ratio", 4);
    const int64_t inner = dino ? static_cast<int64_t>(static_cast<double>(c.hidden) * ratio)
                               : c.integer("intermediate_size", 4 * c.hidden).value();
    const ValueId up = activate(b, g.linear(at + names.up, n, inner, rows), act_of(c));
    return drop_onto(g.linear(at + names.down, up, c.hidden, rows), x, names.scale2);
  }
};

HeadLayer vit_head(ModelGraph& g, ValueId hidden) {
  g.of_head = true;
  ++g.depth;
  return image_classifier(g, names_of(g.config, {}).classes, hidden);
}

}  // namespace

Status read_vit_config(ModelConfig& c) {
  c.hidden = HONE_TRY(c.integer("hidden_size"));
  c.layers = HONE_TRY(c.integer("num_hidden_layers"));
  c.heads = c.kv_heads = HONE_TRY(c.integer("num_attention_heads"));
  HONE_TRY(check_range("the number of heads", c.heads, 1, kLargestSize));
  if (c.hidden % c.heads != 0)
    return Error(
        err::kBadConfig,
        fmt::format("config.json: {} heads do not divide the hidden size {}", c.heads, c.hidden));
  c.head_dim = c.hidden / c.heads;
  HONE_TRY(check_activation(c, "hidden_act", "gelu"));
  HONE_TRY(read_image_size(c, "image_size", 224));
  HONE_TRY(check_range("the height of images", c.image_height, 1, kLargestImage));
  HONE_TRY(check_range("the width of images", c.image_width, 1, kLargestImage));
  const Patches p = HONE_TRY(patches_of(c));
  c.any_image_size = true;
  c.least_image = std::max(p.height, p.width);
  return Ok{};
}

ValueId vit_body(ModelGraph& g, const VitStyle& style) {
  const ModelConfig& c = g.config;
  Builder& b = g.b;
  const VitNames names = names_of(c, style);
  ValueId x = embeddings(g, style, names);
  for (int64_t i = 0; i < c.layers; ++i) {
    Builder::Scope block(b, fmt::format("layer.{}", i));
    ++g.depth;
    const bool few = !style.dino && i + 1 == c.layers;
    x = VitLayer{g, names, i, fmt::format("{}{}.", names.layers, i), few, style.dino}.run(x);
  }
  x = g.layer_norm(names.last, x, c.real("layer_norm_eps", 1e-12));
  if (!style.dino) return x;
  const int64_t images = b.type(g.pixels).shape[0], tokens = b.type(x).shape[0] / images;
  const ValueId all = ops::reshape(b, x, {images, tokens, c.hidden});
  const ValueId of_class = ops::reshape(b, ops::slice(b, all, 1, 0, 1), {images, c.hidden});
  const ValueId sums = ops::reduce_sum(b, ops::slice(b, all, 1, 1, tokens), {1});
  const ValueId mean =
      ops::div(b, sums, ops::constant(b, static_cast<double>(tokens - 1), {DType::f32, {}}));
  return ops::concat(b, {of_class, mean}, 1);
}

Family vit_family(Family f) {
  f.heads = {{Head::image_classification, "ForImageClassification"}};
  f.read_config = read_vit_config;
  f.reads_text = false;
  f.image_processor = "ViTImageProcessor";
  f.head = vit_head;
  f.dropouts = {"hidden_dropout_prob", "attention_probs_dropout_prob"};
  f.body_prefix = f.name + ".";
  f.unread = {"pooler.dense.weight", "pooler.dense.bias"};
  f.layout = layout_of_vit;
  return f;
}

}  // namespace hone
