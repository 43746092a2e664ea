// The pictures of a project of `hone init`.
#pragma once

#include <map>
#include <string>

namespace hone {

// Discs and squares of 32 x 32 pixels: "train/disc/0.png" -> the bytes of the file.
std::map<std::string, std::string> sample_images();

}  // namespace hone
