// Shared parts of vision transformers (Dosovitskiy et al. 2020, arXiv 2010.11929). The tokens of an image are a class
// token and the patches of the image. Positions are learned, and interpolated for images of other sizes. Layer norms
// are before attention and MLP.
#pragma once

#include "learn/models/family.h"

namespace hone {

// The differences between families.
struct VitStyle {
  const char* prefix = "vit.";  // of the body's weights
  bool distils = false;  // a distillation token follows the class token (DeiT, arXiv 2012.12877)
  // DINOv2 (arXiv 2304.07193): the outputs of attention and MLP are scaled by channel and have stochastic depth, and
  // the head also reads the mean of the patches.
  bool dino = false;
};

// Adds to `f` everything but its name, its model types and its body.
Family vit_family(Family f);
// Reads and checks config.json. H2302: a value is not valid. H2303: a value is not supported.
Status read_vit_config(ModelConfig& c);
// The hidden states of the class token of each image, [B,C]; with `dino`, concatenated with the mean of the patches,
// [B,2C].
ValueId vit_body(ModelGraph& g, const VitStyle& style);

}  // namespace hone
