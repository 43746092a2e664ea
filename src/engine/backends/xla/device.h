// The device of a PJRT client. PJRT's arrays have no addresses, but hone's plan places all states in one
// arena. The arena is therefore a range of host addresses that holds an image of the states. A program's
// executable keeps the states as arrays on the device (Residents). Before a copy of the queue touches
// bytes of the image, newer arrays are written into it, so that readers always see the newest values.
// Pages of the image that were never written take no memory.
#pragma once

#include <vector>

#include "engine/backends/xla/client.h"
#include "engine/backends/xla/together.h"
#include "engine/device/device.h"

namespace hone::xla {

// The owner of arrays on the device that hold states of the image.
class Residents {
 public:
  virtual ~Residents() = default;
  // Writes the arrays that overlap these bytes, and are newer than the image, into the image. Error H1363: a transfer
  // fails.
  virtual Status bring_back(std::byte* at, int64_t bytes) = 0;
  // Drops the arrays that overlap these bytes, because the image is about to change there.
  virtual void forget(std::byte* at, int64_t bytes) = 0;
};

class XlaDevice : public Device {
 public:
  // ordinal: number of the client's device; with several ranks also the rank. together: the meeting point of the ranks
  // of this process; null: there is one rank. host: provides pool() and the memory of Space::host.
  XlaDevice(std::shared_ptr<const Client> client, int ordinal, std::shared_ptr<Together> together,
            std::unique_ptr<Device> host, DeviceSpec spec);
  ~XlaDevice() override;
  const DeviceSpec& spec() const override { return spec_; }
  // Errors: H1321 not enough memory, H1401 for blocks on disk, which are not supported.
  Result<std::unique_ptr<Memory>> allocate(Space space, int64_t bytes,
                                           const std::string& folder = "") override;
  Queue& queue(Lane lane) override;
  ThreadPool& pool() override { return host_->pool(); }
  bool host_memory() const override { return false; }
  Status check() const override;

  const Client& client() const { return *client_; }
  int ordinal() const { return ordinal_; }
  Together* together() const { return together_.get(); }  // null: one rank
  // Registers an owner of arrays; it must call remove() before it is destroyed.
  void add(Residents* residents) { residents_.push_back(residents); }
  void remove(Residents* residents);
  // Keeps the first failure of a transfer or a program for check(), and lets the other ranks stop. Ignores Ok.
  void fail(const Status& status);

 private:
  class ImageQueue;
  std::shared_ptr<const Client> client_;
  int ordinal_;
  std::shared_ptr<Together> together_;
  std::unique_ptr<Device> host_;
  DeviceSpec spec_;
  std::vector<Residents*> residents_;
  std::unique_ptr<ImageQueue> queue_;
};

// Returns the whole pages inside a range to the system. Their bytes are zero afterwards.
void release_pages(std::byte* at, int64_t bytes);

}  // namespace hone::xla
