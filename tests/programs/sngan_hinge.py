import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import spectral_norm
from torch.nn.utils import parametrizations

torch.manual_seed(99)
np.random.seed(99)

nz, ngf, ndf = 16, 16, 16


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find('Conv') != -1:
        m.weight.data.normal_(0.0, 0.02)
    elif classname.find('BatchNorm') != -1:
        m.weight.data.normal_(1.0, 0.02)
        m.bias.data.fill_(0)


class Generator(nn.Module):
    def __init__(self):
        super(Generator, self).__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 2, 4, 1, 0, bias=False),
            nn.BatchNorm2d(ngf * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ngf),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf, 1, 4, 2, 1, bias=False),
            nn.Tanh())

    def forward(self, z):
        return self.main(z.view(z.size(0), nz, 1, 1))


class Discriminator(nn.Module):
    def __init__(self):
        super(Discriminator, self).__init__()
        self.conv1 = spectral_norm(nn.Conv2d(1, ndf, 4, 2, 1))
        self.conv2 = spectral_norm(nn.Conv2d(ndf, ndf * 2, 4, 2, 1))
        self.fc = parametrizations.spectral_norm(nn.Linear(ndf * 2 * 16, 1))

    def forward(self, x):
        x = F.leaky_relu(self.conv1(x), 0.1)
        x = F.leaky_relu(self.conv2(x), 0.1)
        return self.fc(x.view(x.size(0), -1)).view(-1)


netG, netD = Generator(), Discriminator()
netG.apply(weights_init)
optD = torch.optim.Adam(netD.parameters(), lr=4e-4, betas=(0.0, 0.9))
optG = torch.optim.Adam(netG.parameters(), lr=1e-4, betas=(0.0, 0.9))
yy, xx = np.mgrid[-1:1:16j, -1:1:16j]
centers = np.random.uniform(-0.5, 0.5, (32, 2))
blobs = np.exp(-((xx[None] - centers[:, :1, None]) ** 2 + (yy[None] - centers[:, 1:, None]) ** 2) / 0.1) * 2 - 1
real = torch.from_numpy(blobs[:, None]).float()

for it in range(12):
    z = torch.randn(32, nz)
    optD.zero_grad()
    fake = netG(z)
    lossD = F.relu(1.0 - netD(real)).mean() + F.relu(1.0 + netD(fake.detach())).mean()
    lossD.backward()
    optD.step()

    optG.zero_grad()
    lossG = -netD(fake).mean()
    lossG.backward()
    optG.step()
    print('loss %.6f loss_G %.6f' % (lossD.item(), lossG.item()))
