// Decompresses a ZIP archive with one file as a stream (PKWARE's APPNOTE.TXT 6.3). The file may be stored or deflated,
// with its sizes after the data or in 64 bits (ZIP64). Folders, and the extra files of macOS (__MACOSX/), are skipped.
// A second file, encryption and other compression methods give UnpackCodec::Did::kRefused with the reason.
#pragma once

#include <memory>

#include "base/store/unpack_codec.h"

namespace hone {

std::unique_ptr<UnpackCodec> make_zip_codec();

}  // namespace hone
