#include "learn/models/torchvision.h"

#include <cmath>

#include "learn/models/errors.h"

namespace hone {
namespace {

using nlohmann::json;

// The weights of a file, by shape.
class TorchvisionShapes {
 public:
  explicit TorchvisionShapes(const std::function<const Shape*(const std::string&)>& shape_of)
      : shape_of_(shape_of) {}

  bool has(const std::string& name) const { return shape_of_(name) != nullptr; }
  // Dimension i of a weight; 0: it has none.
  int64_t size(const std::string& name, size_t i) const {
    const Shape* shape = shape_of_(name);
    return shape != nullptr && i < shape->size() ? (*shape)[i] : 0;
  }
  // The number of n = 0, 1, ... for which there is a weight of this name; '*' is the place of n.
  int64_t count(const std::string& name) const {
    const size_t star = name.find('*');
    int64_t n = 0;
    while (has(fmt::format("{}{}{}", name.substr(0, star), n, name.substr(star + 1)))) ++n;
    return n;
  }

 private:
  const std::function<const Shape*(const std::string&)>& shape_of_;
};

Error no_such_variant(const std::string& what, const std::string& todo) {
  return Error(err::kConfigNotOffered, what).todo(todo);
}

constexpr const char* kStages[] = {"layer1", "layer2", "layer3", "layer4"};

Result<json> resnet_by_shapes(const TorchvisionShapes& w) {
  const bool bottleneck = w.has("layer1.0.conv3.weight");
  json own{{"model_type", "resnet"},
           {"num_channels", w.size("conv1.weight", 1)},
           {"embedding_size", w.size("conv1.weight", 0)},
           {"layer_type", bottleneck ? "bottleneck" : "basic"},
           {"num_labels", w.size("fc.weight", 0)}};
  for (const std::string stage : kStages) {
    const std::string last = stage + (bottleneck ? ".0.conv3.weight" : ".0.conv2.weight");
    const int64_t out = w.size(last, 0), inner = w.size(stage + ".0.conv2.weight", 1);
    if (bottleneck && inner != out / 4)
      return no_such_variant("the file holds a ResNeXt or a wide ResNet, which hone does not have",
                             "use a ResNet-50, 101 or 152");
    own["hidden_sizes"].push_back(out);
    own["depths"].push_back(w.count(stage + ".*.conv1.weight"));
  }
  return own;
}

// torchvision's ViTs: base and large have heads of 64 channels, huge of 80.
int64_t vit_heads(int64_t width) {
  switch (width) {
    case 768:
      return 12;
    case 1024:
    case 1280:
      return 16;
    default:
      return 0;
  }
}

Result<json> vit_by_shapes(const TorchvisionShapes& w) {
  const std::string block = "encoder.layers.encoder_layer_0.";
  const int64_t width = w.size("class_token", 2), heads = vit_heads(width);
  if (heads == 0)
    return no_such_variant(
        fmt::format("the file holds a ViT of {} channels and does not say its heads", width),
        "name its config.json with --config_name (num_attention_heads)");
  const std::string up = w.has(block + "mlp.0.weight") ? "mlp.0.weight" : "mlp.linear_1.weight";
  const int64_t patch = w.size("conv_proj.weight", 2), places = w.size("encoder.pos_embedding", 1);
  const auto side = std::llround(std::sqrt(static_cast<double>(places - 1)));
  return json{{"model_type", "vit"},
              {"num_channels", w.size("conv_proj.weight", 1)},
              {"hidden_size", width},
              {"num_hidden_layers", w.count("encoder.layers.encoder_layer_*.ln_1.weight")},
              {"num_attention_heads", heads},
              {"intermediate_size", w.size(block + up, 0)},
              {"layer_norm_eps", 1e-6},
              {"image_size", side * patch},
              {"patch_size", patch},
              {"num_labels", w.size("heads.head.weight", 0)}};
}

Result<json> convnext_by_shapes(const TorchvisionShapes& w) {
  json own{{"model_type", "convnext"},
           {"num_channels", w.size("features.0.0.weight", 1)},
           {"patch_size", w.size("features.0.0.weight", 2)},
           {"layer_norm_eps", 1e-6},
           {"num_labels", w.size("classifier.2.weight", 0)}};
  for (int64_t i = 1; w.has(fmt::format("features.{}.0.block.0.weight", i)); i += 2) {
    own["hidden_sizes"].push_back(w.size(fmt::format("features.{}.0.block.0.weight", i), 0));
    own["depths"].push_back(w.count(fmt::format("features.{}.*.block.0.weight", i)));
  }
  own["num_stages"] = own["depths"].size();
  return own;
}

Result<json> swin_by_shapes(const TorchvisionShapes& w) {
  if (w.has("features.1.0.attn.logit_scale"))
    return no_such_variant("the file holds a Swin v2, which hone does not have",
                           "use a swin_t, s or b");
  const std::string block = "features.1.0.", biases = "attn.relative_position_bias_table";
  const int64_t width = w.size("features.0.0.weight", 0);
  // (2 window - 1)^2 rows
  const auto side = std::llround(std::sqrt(static_cast<double>(w.size(block + biases, 0))));
  json own{{"model_type", "swin"},
           {"num_channels", w.size("features.0.0.weight", 1)},
           {"patch_size", w.size("features.0.0.weight", 2)},
           {"embed_dim", width},
           {"window_size", (side + 1) / 2},
           {"mlp_ratio", static_cast<double>(w.size(block + "mlp.0.weight", 0)) /
                             static_cast<double>(std::max<int64_t>(1, width))},
           {"layer_norm_eps", 1e-5},
           {"num_labels", w.size("head.weight", 0)}};
  for (int64_t i = 1; w.has(fmt::format("features.{}.0.{}", i, biases)); i += 2) {
    own["num_heads"].push_back(w.size(fmt::format("features.{}.0.{}", i, biases), 1));
    own["depths"].push_back(w.count(fmt::format("features.{}.*.{}", i, biases)));
  }
  return own;
}

}  // namespace

std::optional<Result<json>> config_of_torchvision(
    const std::function<const Shape*(const std::string&)>& shape_of) {
  const TorchvisionShapes w(shape_of);
  if (w.has("layer1.0.conv1.weight") && w.has("bn1.weight") && w.has("fc.weight"))
    return resnet_by_shapes(w);
  if (w.has("encoder.layers.encoder_layer_0.self_attention.in_proj_weight"))
    return vit_by_shapes(w);
  if (w.has("features.1.0.block.0.weight") && w.has("classifier.2.weight"))
    return convnext_by_shapes(w);
  if (w.has("features.1.0.attn.relative_position_bias_table")) return swin_by_shapes(w);
  return {};
}

}  // namespace hone
