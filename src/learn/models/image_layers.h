// Layers of models of images, on ModelGraph. Letters: B images of H rows and W columns, C channels, K
// channels of a convolution's result; values are [B,H,W,C] unless said otherwise.
#pragma once

#include "engine/ops/image_ops.h"
#include "learn/models/family.h"

namespace hone {

// Options of a convolution.
struct ConvLayer {
  int64_t kernel_h = 1, kernel_w = 1, groups = 1;
  ops::Windows windows = {};
  bool bias = false;
  double std = -1;  // of the first weights; < 0: ModelGraph::init_std
};
// A square kernel with this stride, padded so that stride 1 keeps the size; the first weights are those of
// kaiming_normal_ by fan_out.
ConvLayer square_conv(int64_t kernel, int64_t stride, int64_t out, int64_t groups = 1);
// Patches of this size side by side, with a bias.
ConvLayer patch_conv(int64_t height, int64_t width);

// By the weights `at`.weight [out,C/groups,h,w] and `at`.bias [out].
ValueId conv2d(ModelGraph& g, const std::string& at, ValueId x, int64_t out, const ConvLayer& o);

// Batch norm by `at`.weight, .bias [C] and the states .running_mean, .running_var [C] and
// .num_batches_tracked [], which are saved with the model and not trained. Training takes the
// statistics of the images that are there, and moves the running ones by `momentum` towards them
// (variance: of n - 1); else, and beside an adapter, the running ones are used.
// `residual`, of x's shape, is added; then `act` is applied, an activation by the names of Transformers.
struct BatchNormLayer {
  double eps = 1e-5, momentum = 0.1;
  ValueId residual = kNoValue;
  std::string act = "";  // none
};
ValueId batch_norm(ModelGraph& g, const std::string& at, ValueId x, const BatchNormLayer& o = {});

// Stochastic depth: drops whole images of x (any shape whose first dimension is B, or [T,C] of equal
// numbers of rows) in training. The scope names the place.
ValueId drop_path(ModelGraph& g, ValueId x, double p);

// x [T,C] times the weight [C] of this name, which begins with `first` everywhere. timm does not decay it; in
// torchvision's files it is [C,1,1].
ValueId scaled_channels(ModelGraph& g, const std::string& name, ValueId x, double first);

// x [B,H,W,C] -> [B H W,C]
ValueId rows_of_places(Builder& b, ValueId x);
// The mean of each image's places; x [B P,C] -> [B,C].
ValueId mean_of_places(ModelGraph& g, ValueId x);
// A table [1,P,C] for each image, [B,P,C].
ValueId for_images(ModelGraph& g, ValueId table);

// Sets the inputs of tokens in `g` for B sequences of `tokens` each: cu_seqlens, positions and, for training,
// sample_ids. Attention and dropout then work as on texts.
void make_sequences(ModelGraph& g, int64_t tokens);

// The classes by one linear layer, `at`.weight [labels,C] and `at`.bias; x [B,C].
HeadLayer image_classifier(ModelGraph& g, const std::string& at, ValueId x);

// config.json's `key`: one number or {height, width}; absent: `otherwise`. H2302.
Result<std::pair<int64_t, int64_t>> size_of_key(const ModelConfig& c, const char* key,
                                                int64_t otherwise);
// config.json's list of numbers, one for each stage; absent: `otherwise`. H2302.
Result<std::vector<int64_t>> numbers_of_key(const ModelConfig& c, const char* key,
                                            std::vector<int64_t> otherwise);
// The sizes and depths of stages are as many; sets `layers` to the sum of the depths. H2302.
Status check_stages(ModelConfig& c, const std::vector<int64_t>& sizes,
                    const std::vector<int64_t>& depths);
// Reads num_channels and, from `size_key`, image_height and image_width.
Status read_image_size(ModelConfig& c, const char* size_key, int64_t otherwise);

}  // namespace hone
