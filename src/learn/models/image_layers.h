// Layers of image models, built on ModelGraph. Letters: B images of H rows and W columns, C channels; values are
// [B,H,W,C] unless another shape is named. P: the places (pixels or patches) of one image.
#pragma once

#include "engine/ops/image_ops.h"
#include "learn/models/family.h"

namespace hone {

// Options of a convolution.
struct ConvLayer {
  int64_t kernel_h = 1, kernel_w = 1, groups = 1;
  ops::Windows windows = {};  // stride, padding
  bool bias = false;
  double std = -1;  // of the initial weights; < 0: ModelGraph::init_std
};
// A square kernel with this stride, padded by kernel / 2 on all sides. Initial weights are those of torch's
// kaiming_normal_ with fan_out. `out`: the number of output channels.
ConvLayer square_conv(int64_t kernel, int64_t stride, int64_t out, int64_t groups = 1);
// A convolution over patches of this size that do not overlap, with a bias.
ConvLayer patch_conv(int64_t height, int64_t width);

// A convolution with `out` output channels, and the weights `at`.weight [out,C/groups,kernel_h,kernel_w] and `at`.bias
// [out].
ValueId conv2d(ModelGraph& g, const std::string& at, ValueId x, int64_t out, const ConvLayer& o);

// Batch norm with the weights `at`.weight and `at`.bias [C]. The statistics `at`.running_mean, `at`.running_var [C]
// and `at`.num_batches_tracked [] are saved with the model and not trained. Training normalizes with the statistics of
// the present images (image_count), and moves the running statistics towards them by `momentum`. The running variance
// is the unbiased one, divided by n - 1. Evaluation, and training beside an adapter, normalize with the running
// statistics.
struct BatchNormLayer {
  double eps = 1e-5, momentum = 0.1;
  ValueId residual = kNoValue;  // of x's shape; added to the result, before `act`
  std::string act = "";         // activation that is applied at the end (activations.h); "": none
};
ValueId batch_norm(ModelGraph& g, const std::string& at, ValueId x, const BatchNormLayer& o = {});

// Stochastic depth: in training, replaces all values of an image by zeros with probability p, and divides those of the
// other images by 1 - p. x: any shape whose first dimension is B, or [T,C] with the same number of rows for each image.
// The builder's current scope is part of the key of the random numbers.
ValueId drop_path(ModelGraph& g, ValueId x, double p);

// Multiplies x [T,C] by the weight `name` [C], whose initial values are `first`. Under timm's names it has no weight
// decay; in torchvision's files it is [C,1,1].
ValueId scaled_channels(ModelGraph& g, const std::string& name, ValueId x, double first);

// x [B,H,W,C] -> [B*H*W,C]
ValueId rows_of_places(Builder& b, ValueId x);
// The mean over the places of each image, x [B*P,C] -> [B,C].
ValueId mean_of_places(ModelGraph& g, ValueId x);
// Repeats a table [1,P,C] for each image, -> [B,P,C].
ValueId for_images(ModelGraph& g, ValueId table);

// Treats each image as a sequence of `tokens` tokens: sets cu_seqlens, positions and, for training, sample_ids in `g`.
// Attention and dropout then work as for texts.
void make_sequences(ModelGraph& g, int64_t tokens);

// The output layer: x [B,C], weights `at`.weight [labels,C] and `at`.bias [labels].
HeadLayer image_classifier(ModelGraph& g, const std::string& at, ValueId x);

// The height and width under `key` in config.json: one number for both, or a list [height, width]; `otherwise` for
// both if the key is absent. H2302: it has another form.
Result<std::pair<int64_t, int64_t>> size_of_key(const ModelConfig& c, const char* key,
                                                int64_t otherwise);
// The list of numbers under `key` in config.json, one for each stage; `otherwise` if the key is absent. H2302: it has
// another form.
Result<std::vector<int64_t>> numbers_of_key(const ModelConfig& c, const char* key,
                                            std::vector<int64_t> otherwise);
// Sets c.layers to the sum of `depths`, the number of layers of each stage. H2302: `sizes`, a value for each stage,
// does not have as many elements as `depths`.
Status check_stages(ModelConfig& c, const std::vector<int64_t>& sizes,
                    const std::vector<int64_t>& depths);
// Sets c.channels from num_channels, and c.image_height and c.image_width from the key `size_key` (`otherwise` if it is
// absent). H2302: a value is not valid.
Status read_image_size(ModelConfig& c, const char* size_key, int64_t otherwise);

}  // namespace hone
