// Compares the rows of data on which two model versions were trained.
#pragma once

#include "operate/registry/registry.h"

namespace hone {

// Whether `a` may have been trained on rows on which `b` was not trained. True in three cases: their training files
// differ or are unknown; `b` may have been trained on another part of the same files; the training of `a` began from a
// registered version, but that of `b` began neither from this version nor from `a`. Errors: those of the registry.
Result<bool> may_know_more(Registry& registry, const ModelVersion& a, const ModelVersion& b);

}  // namespace hone
