"""The cluster executor: Ray Tune decides, warm Ray Train worker groups train."""
