#include "base/store/places/object_writer.h"

#include "base/store/crc32c.h"
#include "base/store/places/object_reader.h"

namespace hone {

ObjectWriter::~ObjectWriter() {
  for (std::future<Status>& f : in_flight_) f.wait();
}

Status ObjectWriter::wait_for(size_t most) {
  while (in_flight_.size() > most) {
    Status s = in_flight_.front().get();
    in_flight_.pop_front();
    HONE_TRY(std::move(s));
  }
  return Ok{};
}

Status ObjectWriter::begin_upload() {
  if (!upload_) upload_ = HONE_TRY(bucket_.upload(key_, condition_));
  return Ok{};
}

Status ObjectWriter::send_gathered(bool last) {
  HONE_TRY(begin_upload());
  HONE_TRY(wait_for(static_cast<size_t>(bucket_.streams() - 1)));
  in_flight_.push_back(
      std::async(std::launch::async,
                 [u = upload_.get(), number = parts_, offset = sent_, last,
                  bytes = std::move(gathered_)] { return u->part(number, offset, bytes, last); }));
  return Ok{};
}

Status ObjectWriter::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto size = static_cast<int64_t>(bytes.size());
    if (gathered_.empty() && size > part_size()) {
      // Straight from memory. One byte at least stays for the last part, whatever comes.
      HONE_TRY(begin_upload());
      HONE_TRY(wait_for(0));
      std::vector<int64_t> begins;
      int64_t end = 0;
      while (size - end > bucket_.part_bytes(parts_ + static_cast<int64_t>(begins.size()))) {
        begins.push_back(end);
        end += bucket_.part_bytes(parts_ + static_cast<int64_t>(begins.size()) - 1);
      }
      begins.push_back(end);
      HONE_TRY(
          in_parallel(static_cast<int64_t>(begins.size()) - 1, bucket_.streams(), [&](int64_t i) {
            const auto n = static_cast<size_t>(i);
            return upload_->part(parts_ + i, sent_ + begins[n],
                                 bytes.subspan(static_cast<size_t>(begins[n]),
                                               static_cast<size_t>(begins[n + 1] - begins[n])),
                                 false);
          }));
      parts_ += static_cast<int64_t>(begins.size()) - 1;
      sum_ = crc32c(bytes.first(static_cast<size_t>(end)), sum_);
      sent_ += end;
      bytes = bytes.subspan(static_cast<size_t>(end));
      continue;
    }
    const auto room = static_cast<size_t>(part_size()) - gathered_.size();
    if (room == 0) {  // more comes, so this part is not the last
      const auto n = static_cast<int64_t>(gathered_.size());
      sum_ = crc32c(gathered_, sum_);
      HONE_TRY(send_gathered(false));
      sent_ += n;
      ++parts_;
      gathered_ = {};
      continue;
    }
    const auto some = bytes.first(std::min(bytes.size(), room));
    gathered_.insert(gathered_.end(), some.begin(), some.end());
    bytes = bytes.subspan(some.size());
  }
  return Ok{};
}

Status ObjectWriter::commit() {
  if (!upload_) {
    written_ = HONE_TRY(bucket_.put(key_, gathered_, condition_));
    gathered_ = {};
    return Ok{};
  }
  const auto n = static_cast<int64_t>(gathered_.size());
  sum_ = crc32c(gathered_, sum_);
  HONE_TRY(send_gathered(true));
  HONE_TRY(wait_for(0));
  written_ = HONE_TRY(upload_->finish(sent_ + n, sum_));
  return Ok{};
}

}  // namespace hone
