import torch
import torch.nn as nn
import torch.nn.functional as F
import numpy as np

torch.set_default_dtype(torch.float64)


class DoubleConv(nn.Module):
    """(convolution => [BN] => ReLU) * 2"""

    def __init__(self, in_channels, out_channels, mid_channels=None):
        super().__init__()
        if not mid_channels:
            mid_channels = out_channels
        self.double_conv = nn.Sequential(
            nn.Conv2d(in_channels, mid_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(mid_channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(mid_channels, out_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True)
        )

    def forward(self, x):
        return self.double_conv(x)


class Up(nn.Module):
    def __init__(self, in_channels, out_channels, bilinear=True):
        super().__init__()
        if bilinear:
            self.up = nn.Upsample(scale_factor=2, mode='bilinear', align_corners=True)
            self.conv = DoubleConv(in_channels, out_channels, in_channels // 2)
        else:
            self.up = nn.ConvTranspose2d(in_channels, in_channels // 2, kernel_size=2, stride=2)
            self.conv = DoubleConv(in_channels, out_channels)

    def forward(self, x1, x2):
        x1 = self.up(x1)
        diffY = x2.size()[2] - x1.size()[2]
        diffX = x2.size()[3] - x1.size()[3]
        x1 = F.pad(x1, [diffX // 2, diffX - diffX // 2, diffY // 2, diffY - diffY // 2])
        return self.conv(torch.cat([x2, x1], dim=1))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.inc = DoubleConv(1, 8)
        self.down1 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(8, 16))
        self.down2 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(16, 16))
        self.up1 = Up(32, 8)
        self.up2 = Up(16, 8)
        self.up_t = nn.ConvTranspose2d(8, 8, 3, padding=1)
        self.outc = nn.Conv2d(8, 1, kernel_size=1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        x = self.up2(self.up1(x3, x2), x1)
        return self.outc(F.relu(self.up_t(x)))


def dice_loss(pred, target, smooth=1.):
    pred = pred.contiguous().view(pred.shape[0], -1)
    target = target.contiguous().view(target.shape[0], -1)
    intersection = (pred * target).sum(dim=1)
    return (1 - ((2. * intersection + smooth) / (pred.sum(dim=1) + target.sum(dim=1) + smooth))).mean()


def make_batch(rng, n=6, s=21):
    yy, xx = np.mgrid[:s, :s]
    masks = np.stack([((xx - cx) ** 2 + (yy - cy) ** 2 < r ** 2) for cx, cy, r in zip(*rng.uniform([[4], [4], [2]], [[17], [17], [6]], (3, n)))])
    images = masks + 0.3 * rng.standard_normal(masks.shape)
    return torch.as_tensor(images[:, None], dtype=torch.float64), torch.as_tensor(masks[:, None], dtype=torch.float64)


if __name__ == '__main__':
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    net = UNet()
    optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-4, weight_decay=1e-8, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, 'max', patience=2)
    bce = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(2.0))
    for step in range(12):
        imgs, masks = make_batch(rng)
        masks_pred = net(imgs)
        loss = bce(masks_pred, masks)
        loss += dice_loss(torch.sigmoid(masks_pred), masks)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(net.parameters(), 0.1)
        optimizer.step()
        print('loss', '%.12f' % loss.item())
        if step % 4 == 3:
            scheduler.step(1 - loss.item())
