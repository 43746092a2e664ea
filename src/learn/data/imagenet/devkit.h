// ILSVRC2012_devkit_t12.tar.gz: the numbers of the validation images' classes, and data/meta.mat, which has the classes by number.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/core/error.h"

namespace hone {

// WordNet ids by ILSVRC2012_ID, from the bytes of meta.mat: MATLAB 5's format (MAT-File Format, MathWorks, chapter 1), its struct
// `synsets`. `name`: for errors. H2968 a file of another form.
Result<std::map<int64_t, std::string>> classes_of_meta(std::string_view bytes,
                                                       const std::string& name);

// "n" and eight digits.
bool is_wordnet_id(std::string_view text);

}  // namespace hone
